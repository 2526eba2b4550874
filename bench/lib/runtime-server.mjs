/**
 * A service in which every request burns 5 ms of CPU in five slices: `node runtime-server.mjs URL`. URL is that of the
 * index of the build that protects it, or `bare`. Sends its port.
 */
import http from 'node:http'
import { burn } from '../../packages/lab/apps/burst-work.js'

const index = process.argv[2] ?? 'bare'
const server = http.createServer((_, response) => void burn().then(() => response.end('done\n')))
if (index !== 'bare') (await import(index)).protect(server)
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('disconnect', () => process.exit())
