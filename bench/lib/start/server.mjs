/** The same as server.cjs, as an ES module. */
import http from 'node:http'
const server = http.createServer((_, response) => response.end())
if (process.env.PROTECT) (await import(process.env.PROTECT)).protect(server)
server.listen(0, '127.0.0.1', () => server.close())
