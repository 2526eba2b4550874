/** The HTTP server of the admin port. It does not keep the process alive, and its clients cannot occupy it. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'

/** Enough for balancers, scrapers and people; further connections are closed. */
const MOST_CONNECTIONS = 100
/** Idle and half-open clients are disconnected after 5 s. */
const PROMPT_CLIENTS = { headersTimeout: 5000, requestTimeout: 5000, connectionsCheckingInterval: 1000 }

export function pageServer(answer: RequestListener): Server {
  const server = createServer(PROMPT_CLIENTS, answer)
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', socket => socket.unref())
  return server
}

export function send(response: ServerResponse, type: string, text: string, status: number = 200): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' })
  response.end(response.req.method === 'HEAD' ? undefined : text)
}
