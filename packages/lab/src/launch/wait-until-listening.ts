/** Waits until a started command is reachable, or explains in one sentence why it is not. */
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../user-error.ts'
import type { LoadTarget, Tls } from '../load/plan.ts'
import { accepts, parseTarget } from '../load/target.ts'
import { speaksTls, trustHint, untrustedHint } from '../load/tls.ts'
import { type Listener, listeningPorts } from '../processes/listening-ports.ts'
import type { App } from './command.ts'

/** The part of an app that a check of its server needs; the lab need not have started the app. */
type Reachable = Pick<App, 'name' | 'ended' | 'lastWords'>

export interface ReadyOptions {
  /** The address that the user gave; then the lab does not search for the port. */
  readonly url: URL | undefined
  /** The port set in PORT: preferred if the command listens on several. */
  readonly preferredPort: number | undefined
  /** True if the command is sure to listen on `preferredPort`: its other ports are ignored. @default false */
  readonly onlyThere?: boolean
  /** How to trust its certificate, if it uses TLS. */
  readonly tls?: Tls | undefined
  /** A port other than `preferredPort` is used if it answers this with a status below 400. @default GET / */
  readonly request?: PathRequest | undefined
  readonly startTimeoutMs: number
  readonly signal: AbortSignal
}

/** Polling interval. Reading /proc costs about 2 ms of the lab's core. */
const pollMs = 25
const connectTimeoutMs = 1000
/** A server that opened an unexpected port may be about to open others, so this time passes before the first probe. */
const settleMs = 200
const PROBE_EVERY_MS = 1000
const PROBE_TIMEOUT_MS = 1000
/** After this share of the time to start, the first port is taken, whatever it answers: the caller says what is wrong. */
const PROBING_SHARE = 1 / 2

/** Returns the origin on which the command listens, such as `http://127.0.0.1:3000`. */
export async function waitUntilListening(app: App, options: ReadyOptions): Promise<{ origin: string; note?: string }> {
  const { url, preferredPort, onlyThere = false, tls, startTimeoutMs, signal } = options
  const until = Date.now() + startTimeoutMs
  let probeAt: number | undefined
  let probeUntil = until
  for (;;) {
    signal.throwIfAborted()
    if (app.ended() !== undefined) throw endedEarly(app)
    const isLast = Date.now() >= until
    if (url === undefined) {
      const found = await listeningPorts(app.pid)
      const expected = found.find(listener => listener.port === preferredPort)
      if (expected !== undefined) return { origin: originOf(expected, tls) }
      if (onlyThere || found.length === 0) probeAt = undefined
      else if (probeAt === undefined) {
        probeAt = Date.now() + settleMs
        probeUntil = Math.min(until, Date.now() + startTimeoutMs * PROBING_SHARE)
      }
      if (probeAt !== undefined && (isLast || Date.now() >= probeAt)) {
        const taken = (await firstThatAnswers(found, options)) ?? (Date.now() >= probeUntil ? found[0] : undefined)
        if (taken !== undefined) return chosen(app, found, taken, tls)
        probeAt = Date.now() + PROBE_EVERY_MS
      }
    } else if (await listensAt(url)) return { origin: url.origin }
    if (isLast) throw await neverListened(app, options)
    await sleep(pollMs)
  }
}

/**
 * With --url the lab does not search for the port, so a server that already listens there would be measured instead.
 */
export async function refuseTaken(url: URL | undefined): Promise<void> {
  if (url === undefined || !(await listensAt(url))) return
  throw new UserError(`a process listens on ${url.origin} already, before the command was started; end it first`)
}

/** True if a TCP connection succeeds. Used only for the address of --url. */
function listensAt(url: URL): Promise<boolean> {
  const { hostname, port } = parseTarget(url.origin)
  return accepts(hostname, port, connectTimeoutMs)
}

/** A port may be an inspector, a metrics port or a database. Those answer HTTP too, but rarely what is asked here. */
async function firstThatAnswers(
  found: readonly Listener[],
  { tls, request = { method: 'GET', path: '/', headers: {}, body: undefined } }: ReadyOptions,
): Promise<Listener | undefined> {
  for (const listener of found) {
    const url = new URL(request.path, originOf(listener, tls))
    const status = await ask(url, { ...request, tls }, PROBE_TIMEOUT_MS)
    if (typeof status === 'number' && status < 400) return listener
  }
  return undefined
}

function chosen(
  { name }: App,
  found: readonly Listener[],
  taken: Listener,
  tls: Tls | undefined,
): { origin: string; note?: string } {
  if (found.length === 1) return { origin: originOf(taken, tls) }
  const ports = found.map(listener => listener.port).join(', ')
  const note = `${name} listens on several ports (${ports}); using ${taken.port}, --url chooses another`
  return { origin: originOf(taken, tls), note }
}

function originOf({ host, port }: Listener, tls: Tls | undefined): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function endedEarly(app: Reachable): UserError {
  const how = `${app.name} ${app.ended()}`
  const words = app.lastWords()
  if (words.includes('EADDRINUSE')) {
    return new UserError(`${how}: its port is taken by another process; end that one first${quote(words)}`)
  }
  return new UserError(`${how} before it listened on a port${quote(words)}`)
}

async function neverListened(app: App, options: ReadyOptions): Promise<UserError> {
  const waited = `${options.startTimeoutMs / 1000}s`
  const words = quote(app.lastWords())
  if (options.url === undefined) {
    return new UserError(
      `${app.name} runs but listened on no TCP port within ${waited}; wait longer with --start-timeout, or give its address with --url${words}`,
    )
  }
  const found = await listeningPorts(app.pid).catch(() => [])
  const where = found.length === 0 ? '' : ` (${app.name} listens on ${found.map(each => each.port).join(', ')})`
  return new UserError(`nothing accepted a connection at ${options.url.origin} within ${waited}${where}${words}`)
}

/** The last output of a process, indented below the sentence. */
export function quote(words: string): string {
  return words === '' ? '' : `\nits last output:\n${words.replace(/^/gm, '  | ')}`
}

export interface Ask extends Pick<LoadTarget, 'method' | 'headers' | 'body'> {
  readonly tls?: Tls | undefined
}

/** A request to an app whose port is not known yet. */
export interface PathRequest extends Ask {
  readonly path: string
}

/** Sends one request. Resolves to the HTTP status, or to a text for the failure. `agent` keeps connections open. */
export function ask(
  url: URL,
  request: Ask,
  timeoutMs: number,
  agent: http.Agent | false = false,
): Promise<number | string> {
  const transport = url.protocol === 'https:' ? https : http
  return new Promise(resolve => {
    const { method, headers, body, tls } = request
    const trust = { ca: tls?.ca, rejectUnauthorized: tls?.insecure !== true }
    const sent = transport.request(url, { method, headers, agent, ...trust })
    // The socket's idle timeout is not enough: a server could send a byte now and then for ever.
    const timer = setTimeout(() => {
      resolve(`no answer within ${timeoutMs / 1000}s`)
      sent.destroy()
    }, timeoutMs)
    sent.once('response', response => {
      response.resume()
      response.once('end', () => settle(response.statusCode ?? 0))
      response.once('error', error => settle(error.message))
    })
    sent.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message))
    sent.end(body)
    function settle(outcome: number | string): void {
      clearTimeout(timer)
      resolve(outcome)
    }
  })
}

/**
 * Checks that the answer is 2xx or 3xx before minutes of measurement. Returns a warning if the answer is a redirect.
 */
export async function checkAnswers(app: Reachable, url: URL, request: Ask, timeoutMs: number): Promise<string[]> {
  let outcome: number | string = ''
  // A server may listen a moment before it is ready, so there are three tries in half a second.
  for (let attempt = 0; attempt < 3; attempt++) {
    if (attempt > 0) await sleep(250)
    outcome = await ask(url, request, timeoutMs)
    if (typeof outcome === 'number' && outcome >= 200 && outcome < 400) {
      const asked = `${request.method} ${url.pathname} is answered ${outcome}`
      const isRedirect = outcome >= 300 && outcome !== 304
      return isRedirect ? [`${asked}, and redirects are not followed; measure their target with --path`] : []
    }
    if (app.ended() !== undefined) throw endedEarly(app)
  }
  const { hostname, port } = parseTarget(url.origin)
  if (typeof outcome === 'string' && url.protocol === 'http:' && (await speaksTls(hostname, port))) {
    throw new UserError(`${app.name} uses TLS on port ${port}${trustHint}`)
  }
  const untrusted = typeof outcome === 'string' ? untrustedHint(outcome) : ''
  if (untrusted !== '') throw new UserError(`${app.name} is not trusted (${outcome})${untrusted}`)
  const what = typeof outcome === 'number' ? `answered ${outcome}` : `gave no answer (${outcome})`
  throw new UserError(
    `${app.name} ${what} to ${request.method} ${url.href}, so there is nothing to measure; ` +
      `choose another request with --path, --method, --header or --body${quote(app.lastWords())}`,
  )
}
