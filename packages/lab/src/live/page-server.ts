/** Serves the page to this computer, sends it figures and receives its settings. A slow viewer misses some figures. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

/** The functions through which the page reads and controls the run. */
export interface PageParts {
  readonly about: () => unknown
  /** The complete state for a new viewer; undefined before there is any. */
  readonly everything: () => unknown
  /** Throws a RangeError for an invalid load. */
  readonly setLoad: (given: unknown) => void
  readonly end: () => void
}

const MOST_VIEWERS = 16
const MOST_CONNECTIONS = 64
const MOST_BODY_BYTES = 64
/** Maximum wait for browsers to read the report after the redirect. */
const REPORT_READ_MS = 5000

const types = { html: 'text/html', css: 'text/css', js: 'text/javascript' } as const
const folder = new URL('../../assets/live/', import.meta.url)
const FILES = ['../page.css', 'live.html', 'live.css', 'live.js', 'dots.js', 'lines.js', 'surface.js', 'words.js']

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}
/** The report contains its styles and no script. */
const REPORT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

export class PageServer {
  readonly #parts: PageParts
  readonly #server: http.Server
  readonly #viewers = new Set<http.ServerResponse>()
  readonly #files = new Map(FILES.map(name => [`/${path.basename(name)}`, readFileSync(new URL(name, folder))]))
  #report: string | undefined
  #unread = 0
  #allRead: () => void = () => {}

  constructor(parts: PageParts) {
    this.#parts = parts
    this.#server = http.createServer((request, response) => this.#answer(request, response))
    this.#server.maxConnections = MOST_CONNECTIONS
  }

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    return `http://127.0.0.1:${this.#port}/`
  }

  get viewers(): number {
    return this.#viewers.size
  }

  tell(message: unknown): void {
    if (this.viewers === 0) return
    const text = eventOf('told', message)
    // A viewer that has not read the previous message does not get this one.
    for (const viewer of this.#viewers) if (viewer.writableLength === 0) viewer.write(text)
  }

  /** Redirects all viewers to the report; resolves when all have read it, or after `REPORT_READ_MS`. */
  async show(report: string): Promise<void> {
    this.#report = report
    this.#unread = this.#viewers.size
    if (this.#unread === 0) return
    await new Promise<void>(resolve => {
      this.#allRead = resolve
      setTimeout(resolve, REPORT_READ_MS).unref()
      for (const viewer of this.#viewers) viewer.end(eventOf('report', '/report'))
    })
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
    if (!this.#isOurs(request)) {
      refuse(response, 403, 'Open the address that meltlab live has printed, in this computer’s browser.')
      return
    }
    const asked = request.url === '/' ? '/live.html' : request.url!
    const file = this.#files.get(asked)
    const method = asked === '/load' || asked === '/end' ? 'POST' : 'GET'
    if (request.method !== method) {
      response.setHeader('allow', method)
      refuse(response, 405, `${asked} takes ${method}.`)
    } else if (file !== undefined) {
      response.setHeader('content-type', `${types[asked.split('.')[1] as keyof typeof types]}; charset=utf-8`)
      response.end(file)
    } else if (asked === '/events') this.#watch(response)
    else if (asked === '/report' && this.#report !== undefined) this.#giveReport(this.#report, response)
    else if (asked === '/load') this.#setLoad(request, response)
    else if (asked === '/end') {
      response.writeHead(202).end()
      this.#parts.end()
    } else refuse(response, 404, `There is no ${asked.slice(0, 80)} here.`)
  }

  /** Rejects other host names for this address, and other pages open in the same browser. */
  #isOurs({ headers }: http.IncomingMessage): boolean {
    const { host, origin } = headers
    const names = [`127.0.0.1:${this.#port}`, `localhost:${this.#port}`]
    const site = headers['sec-fetch-site'] ?? 'none'
    return (
      host !== undefined &&
      names.includes(host) &&
      (origin === undefined || origin === `http://${host}`) &&
      (site === 'none' || site === 'same-origin')
    )
  }

  #watch(response: http.ServerResponse): void {
    if (this.#viewers.size >= MOST_VIEWERS) {
      refuse(response, 503, `${MOST_VIEWERS} pages watch already; close one of them.`)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(eventOf('about', this.#parts.about()))
    const everything = this.#parts.everything()
    if (everything !== undefined) response.write(eventOf('told', everything))
    this.#viewers.add(response)
    response.on('close', () => this.#viewers.delete(response))
  }

  #giveReport(report: string, response: http.ServerResponse): void {
    response.setHeader('content-security-policy', REPORT_POLICY)
    response.setHeader('content-type', 'text/html; charset=utf-8')
    // The connection closes after the report, which shows that the browser has read it.
    response.setHeader('connection', 'close')
    response.end(report)
    response.once('close', () => {
      this.#unread--
      if (this.#unread <= 0) this.#allRead()
    })
  }

  #setLoad(request: http.IncomingMessage, response: http.ServerResponse): void {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => {
      if (response.writableEnded) return
      body += text
      if (body.length <= MOST_BODY_BYTES) return
      response.setHeader('connection', 'close')
      refuse(response, 413, `A load takes at most ${MOST_BODY_BYTES} bytes.`)
    })
    request.on('error', () => {}) // The browser has disconnected.
    request.on('end', () => {
      if (response.writableEnded) return
      try {
        this.#parts.setLoad(loadIn(body))
        response.writeHead(204).end()
      } catch (error) {
        refuse(response, 400, (error as Error).message)
      }
    })
  }
}

function loadIn(body: string): unknown {
  try {
    return (JSON.parse(body) as { load?: unknown } | null)?.load
  } catch {
    throw new RangeError(`expected {"load": 2.5}, got ${body}`)
  }
}

const eventOf = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

function refuse(response: http.ServerResponse, status: number, why: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${why}\n`)
}
