/** Listens on the port it is told, whatever PORT says. */
import http from 'node:http'

http.createServer((_request, response) => response.end('hello')).listen(Number(process.argv[2]), '127.0.0.1')
