/** Listens on the port in its argument, and ignores PORT. */
import http from 'node:http'

http.createServer((_request, response) => response.end('hello')).listen(Number(process.argv[2]), '127.0.0.1')
