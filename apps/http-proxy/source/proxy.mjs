// http-proxy as in its README: forwards everything to one upstream, including WebSockets.
import http from 'node:http'
import httpProxy from 'http-proxy'

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 })
const proxy = httpProxy.createProxyServer({ target: process.env.UPSTREAM, agent, xfwd: true })
proxy.on('error', (error, _request, response) => {
  if (response instanceof http.ServerResponse && !response.headersSent) response.writeHead(502)
  response.end(`the upstream failed: ${error.code ?? error.message}\n`)
})
const server = http.createServer((request, response) => proxy.web(request, response))
server.on('upgrade', (request, socket, head) => proxy.ws(request, socket, head, { agent: false }))
process.on('SIGTERM', () => server.close(() => process.exit(0)))
server.listen(Number(process.env.PORT), '127.0.0.1')
