/**
 * The operator's pages, on a port of their own: no request of the service is in their way, and none of its clients sees
 * them. Keeps nothing alive; where the port can not be had, the app runs without.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Server } from 'node:net'
import { AllGuards } from './all-guards.ts'
import { metrics } from './observe/prometheus.ts'
import type { Guard } from './server/guard.ts'
import { answerReadiness } from './server/operate/readiness.ts'

export interface AdminAddress {
  readonly host: string
  readonly port: number
}

type Page = (request: IncomingMessage, response: ServerResponse) => void

/** A balancer, a scraper and a person; more are turned away. */
const MOST_CONNECTIONS = 100
/** As it is before meltproof/register stands in its way: this server is not one of the app's. */
const { listen } = Server.prototype

/** @param guards of the servers that listen now */
export function serveAdmin(
  { host, port }: AdminAddress,
  guards: () => readonly Guard[],
  warn: (text: string) => void,
): void {
  const all = new AllGuards(guards)
  const pages: Readonly<Record<string, Page>> = {
    '/ready': (request, response) => {
      const stats = all.stats()
      const draining = stats.draining || guards().length === 0
      answerReadiness({ path: '/ready' }, { ...stats, draining }, request, response)
    },
    '/metrics': metrics(all),
    '/stats': (request, response) => send(request, response, 'application/json', JSON.stringify(all.stats())),
    '/explain': (request, response) =>
      send(
        request,
        response,
        'text/plain',
        guards()
          .map(guard => `${guard.explain()}\n`)
          .join(''),
      ),
  }
  const server = createServer((request, response) => {
    const page = pages[request.url!.split('?')[0]!]
    try {
      if (!all.any) send(request, response, 'text/plain', 'No server of the app listens yet.\n', 503)
      else if (page !== undefined) page(request, response)
      else send(request, response, 'text/plain', `${Object.keys(pages).join('\n')}\n`, 404)
    } catch {
      response.destroy()
    }
  })
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', socket => socket.unref())
  server.on('error', error => warn(`has no admin port. ${String(error)}`))
  // A worker of a cluster would share its primary's, and each scrape find another one.
  listen.call(server, { host, port, exclusive: true })
  server.unref()
}

function send(
  { method }: IncomingMessage,
  response: ServerResponse,
  type: string,
  text: string,
  status: number = 200,
): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' })
  response.end(method === 'HEAD' ? undefined : text)
}
