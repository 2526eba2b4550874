/** Serves the storm's page to this computer, sends it the figures, and accepts its settings. */
import express from 'express'
import { fileURLToPath } from 'node:url'
import { securityHeaders } from '../src/http/security-headers.ts'
import { isLocalName } from '../src/lan.ts'

export interface PageParts {
  /** Returns the state that all viewers receive as JSON. */
  readonly tell: () => object
  /** Throws a RangeError if the settings are not valid. */
  readonly set: (given: unknown) => void
}

const TELL_MS = 500
const MOST_VIEWERS = 8
const folder = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export function pageApp({ tell, set }: PageParts): express.Express {
  const viewers = new Set<express.Response>()
  /** Counts the changes, so that a page can ignore a state that is older than its own change. */
  let revision = 0
  const message = (): string => `data: ${JSON.stringify({ ...tell(), revision })}\n\n`
  setInterval(() => {
    if (viewers.size === 0) return
    const text = message()
    // A viewer that has not read the previous state skips this one.
    for (const viewer of viewers) if (viewer.writableLength === 0) viewer.write(text)
  }, TELL_MS).unref()

  const app = express()
  app.disable('x-powered-by')
  app.use((request, response, next) => {
    // Refuses requests under another host name (DNS rebinding), and those of other sites in this browser.
    const from = request.get('sec-fetch-site') ?? 'same-origin'
    const isOurs = isLocalName(request.host) && ['same-origin', 'none'].includes(from)
    if (isOurs) next()
    else response.status(403).type('text').send('Open the address that npm run storm has printed.\n')
  })
  app.use(securityHeaders)
  app.get('/events', (_request, response) => {
    if (viewers.size >= MOST_VIEWERS) return void response.status(503).end()
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(message())
    viewers.add(response)
    response.on('close', () => viewers.delete(response))
  })
  app.post('/settings', express.json({ limit: '1kb' }), (request, response) => {
    try {
      set(request.body)
      revision++
      response.json({ revision })
    } catch (error) {
      response.status(400).json({ title: error instanceof Error ? error.message : String(error) })
    }
  })
  app.use(express.static(folder('page'), { index: 'storm.html' }))
  app.use(express.static(folder('../public'), { index: false }))
  return app
}
