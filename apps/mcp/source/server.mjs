// A server of the Model Context Protocol over HTTP: /mcp without sessions, /sessions with them.
import { randomUUID } from 'node:crypto'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import { makeServer } from './tools.mjs'

const refused = (response, status, code, message) =>
  response.status(status).json({ jsonrpc: '2.0', error: { code, message }, id: null })

const app = createMcpExpressApp()
app.get('/health', (_request, response) => response.json({ up: true }))

app.post('/mcp', async (request, response) => {
  const server = makeServer()
  try {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await server.connect(transport)
    response.on('close', () => {
      transport.close()
      server.close()
    })
    await transport.handleRequest(request, response, request.body)
  } catch {
    if (!response.headersSent) refused(response, 500, -32603, 'Internal server error')
  }
})
app.get('/mcp', (_request, response) => refused(response, 405, -32000, 'Method not allowed.'))
app.delete('/mcp', (_request, response) => refused(response, 405, -32000, 'Method not allowed.'))

const transports = new Map()
app.post('/sessions', async (request, response) => {
  const known = transports.get(request.headers['mcp-session-id'])
  if (known !== undefined) return known.handleRequest(request, response, request.body)
  if (!isInitializeRequest(request.body)) return refused(response, 400, -32000, 'No valid session ID provided')
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: id => void transports.set(id, transport),
    onsessionclosed: id => void transports.delete(id),
  })
  await makeServer().connect(transport)
  await transport.handleRequest(request, response, request.body)
})
const known = async (request, response) => {
  const transport = transports.get(request.headers['mcp-session-id'])
  if (transport === undefined) return refused(response, 404, -32001, 'Session not found')
  await transport.handleRequest(request, response)
}
app.get('/sessions', known)
app.delete('/sessions', known)

const server = app.listen(Number(process.env.PORT), '127.0.0.1')
process.on('SIGTERM', () => server.close(() => process.exit(0)))
