/**
 * Waits until a started command can be reached, and says in one sentence why when it can not: it ended, it never
 * listened, its port was taken, or it answers nothing but errors.
 */
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../user-error.ts'
import type { RequestHeaders, Tls } from '../load/plan.ts'
import { accepts, parseTarget } from '../load/target.ts'
import { speaksTls, trustHint, untrustedHint } from '../load/tls.ts'
import { type Listener, listeningPorts } from '../processes/listening-ports.ts'
import type { App } from './command.ts'

/** What is asked, whoever started it. */
export type Reachable = Pick<App, 'name' | 'ended' | 'lastWords'>

export interface ReadyOptions {
  /** Where the user says it listens; then no port is looked for. */
  readonly url: URL | undefined
  /** The port we asked for through PORT: the one to take when it listens on several. */
  readonly preferredPort: number | undefined
  /** It will come to that port: others that it opens before are not taken. @default false */
  readonly onlyThere?: boolean
  /** It speaks TLS, and this is how it is trusted. */
  readonly tls?: Tls | undefined
  readonly startTimeoutMs: number
  readonly signal: AbortSignal
}

/** How often to look. Reading /proc costs about 2 ms of our own core. */
const pollMs = 25
const connectTimeoutMs = 1000
/** A server that opened one port may be about to open others; this long is waited when it is not the expected one. */
const settleMs = 200
/** A command that has listened on other ports than the one of --url for this long will not open that one either. */
const elsewhereMs = 1000

/** The origin, such as `http://127.0.0.1:3000`, that the command listens on. */
export async function waitUntilListening(app: App, options: ReadyOptions): Promise<{ origin: string; note?: string }> {
  const { url, preferredPort, onlyThere = false, tls, startTimeoutMs, signal } = options
  const until = Date.now() + startTimeoutMs
  let firstSeen: number | undefined
  for (;;) {
    signal.throwIfAborted()
    if (app.ended() !== undefined) throw endedEarly(app)
    if (url !== undefined && (await listensAt(url))) return { origin: url.origin }
    const found = await listeningPorts(app.pid)
    if (found.length > 0) firstSeen ??= Date.now()
    if (url !== undefined) {
      const elsewhere = firstSeen !== undefined && Date.now() - firstSeen >= elsewhereMs
      if (elsewhere) throw await neverListened(app, { ...options, startTimeoutMs: elsewhereMs })
    } else {
      const expected = found.find(listener => listener.port === preferredPort)
      if (expected !== undefined) return { origin: originOf(expected, tls) }
      if (!onlyThere && firstSeen !== undefined && Date.now() - firstSeen >= settleMs) return choose(app, found, tls)
    }
    if (Date.now() >= until) throw await neverListened(app, options)
    await sleep(pollMs)
  }
}

/** With --url the port is not looked up, so a server that already listens there would be measured instead. */
export async function refuseTaken(url: URL | undefined): Promise<void> {
  if (url === undefined || !(await listensAt(url))) return
  throw new UserError(`something listens on ${url.origin} already, before the command was started; end it first`)
}

/** True when a TCP connection can be made. Used only where no port can be looked up. */
function listensAt(url: URL): Promise<boolean> {
  const { hostname, port } = parseTarget(url.origin)
  return accepts(hostname, port, connectTimeoutMs)
}

async function choose(
  { name }: App,
  found: readonly Listener[],
  tls: Tls | undefined,
): Promise<{ origin: string; note?: string }> {
  const [only] = found
  if (found.length === 1) return { origin: originOf(only!, tls) }
  // Several ports: an inspector or a metrics port answers HTTP too, but seldom with a page at /.
  for (const listener of found) {
    const status = await ask(
      new URL(originOf(listener, tls)),
      { method: 'GET', headers: {}, body: undefined, tls },
      1000,
    )
    if (typeof status === 'number' && status < 400) return several(name, listener, found, tls)
  }
  return several(name, only!, found, tls)
}

function several(
  name: string,
  taken: Listener,
  found: readonly Listener[],
  tls: Tls | undefined,
): { origin: string; note: string } {
  const ports = found.map(listener => listener.port).join(', ')
  return {
    origin: originOf(taken, tls),
    note: `${name} listens on several ports (${ports}); using ${taken.port}, --url chooses another`,
  }
}

function originOf({ host, port }: Listener, tls: Tls | undefined): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function endedEarly(app: Reachable): UserError {
  const how = `${app.name} ${app.ended()}`
  const words = app.lastWords()
  if (words.includes('EADDRINUSE')) {
    const port = takenPort(words)
    const what = port === undefined ? 'its port' : `port ${port}`
    return new UserError(`${how}: ${what} is taken by another process; end that one first${quote(words)}`)
  }
  return new UserError(`${how} before it listened on a port${quote(words)}`)
}

/** Pure: Node says `address already in use 127.0.0.1:3000`, and prints `port: 3000` below. */
export function takenPort(words: string): number | undefined {
  const found = /address already in use \S*?(\d+)$/m.exec(words) ?? /\bport: (\d+)/.exec(words)
  return found === null ? undefined : Number(found[1])
}

async function neverListened(app: App, options: ReadyOptions): Promise<UserError> {
  const waited = `${options.startTimeoutMs / 1000}s`
  const words = quote(app.lastWords())
  if (options.url === undefined) {
    return new UserError(
      `${app.name} runs but listened on no TCP port within ${waited}; --start-timeout waits longer, --url names the address${words}`,
    )
  }
  const found = await listeningPorts(app.pid).catch(() => [])
  const where = found.length === 0 ? '' : ` (${app.name} listens on ${found.map(each => each.port).join(', ')})`
  return new UserError(`nothing accepted a connection at ${options.url.origin} within ${waited}${where}${words}`)
}

/** What the process said last, indented under the sentence. */
export function quote(words: string): string {
  return words === '' ? '' : `\nits last words:\n${words.replace(/^/gm, '  | ')}`
}

export interface Ask {
  readonly method: string
  readonly headers: RequestHeaders
  readonly body: string | Uint8Array | undefined
  readonly tls?: Tls | undefined
}

/** One request: the status of its answer, or a word for why there was none. `agent`: of connections that are kept. */
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
    // Not the socket's idle timeout: a peer that drips bytes must not be waited for either.
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

/** Makes sure that the request the user wants measured is answered at all, before minutes are spent on it. */
export async function checkAnswers(app: Reachable, url: URL, request: Ask, timeoutMs: number): Promise<number> {
  let outcome: number | string = ''
  // A server may listen a moment before it is ready; three tries over half a second forgive that.
  for (let attempt = 0; attempt < 3; attempt++) {
    if (attempt > 0) await sleep(250)
    outcome = await ask(url, request, timeoutMs)
    if (typeof outcome === 'number' && outcome >= 200 && outcome < 400) return outcome
    if (app.ended() !== undefined) throw endedEarly(app)
  }
  const { hostname, port } = parseTarget(url.origin)
  if (typeof outcome === 'string' && url.protocol === 'http:' && (await speaksTls(hostname, port))) {
    throw new UserError(`${app.name} speaks TLS on port ${port}${trustHint}`)
  }
  const untrusted = typeof outcome === 'string' ? untrustedHint(outcome) : ''
  if (untrusted !== '') throw new UserError(`${app.name} is not trusted (${outcome})${untrusted}`)
  const what = typeof outcome === 'number' ? `answered ${outcome}` : `gave no answer (${outcome})`
  throw new UserError(
    `${app.name} ${what} to ${request.method} ${url.href}, so there is nothing to measure; ` +
      `--path, --method, --header and --body choose another request${quote(app.lastWords())}`,
  )
}
