/**
 * protect(): puts the door on a server. The one line of the README.
 */
import { Server as HttpServer, type IncomingMessage } from 'node:http'
import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2'
import { Server as HttpsServer } from 'node:https'
import net from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { GATE_TUNING } from '../admission/gate.ts'
import { ConcurrencyLimiter } from '../admission/limiter/concurrency-limiter.ts'
import { LIMITER_TUNING } from '../admission/limiter/tuning.ts'
import { fixedLimit, type Limiter } from '../admission/limiter/limiter.ts'
import { caughtPromise } from './promise-like.ts'
import { MeltproofError } from '../errors.ts'
import { now } from '../clock.ts'
import { checkNumber, show, showThrown } from '../options.ts'
import { heapRoom } from '../signals/heap.ts'
import { loopWorkedMs } from '../signals/loop-worked.ts'
import { clientsBy } from './request/client-key.ts'
import { criticalityLevels } from './request/criticality-of.ts'
import { RequestInterceptor } from './request-interceptor.ts'
import { drain, longestDelay } from './operate/drain.ts'
import { exemptPaths } from './request/exempt-paths.ts'
import { explainShed } from './operate/explanation.ts'
import type { Guard } from './guard.ts'
import { guardOf, setGuard } from './guard-of.ts'
import { openLanes } from './connection/lanes.ts'
import { checkProtectOptions, type ProtectOptions } from './protect-options.ts'
import { RequestDeadlines } from './request/request-deadlines.ts'
import { type Warn, safeWarning } from './warnings.ts'
import type { RequestPolicy } from './request/policy.ts'
import { Gauges } from './permit/pool-gauges.ts'
import { answerReadiness } from './operate/readiness.ts'
import { ShedAnswers } from './shed/shed-answer.ts'

/** What protect() can stand at. HTTP/2 servers by their compatibility API: requests, not raw streams. */
export type ProtectedServer = HttpServer | HttpsServer | Http2Server | Http2SecureServer

/** True while a guard stands at this server. */
export function isProtected(server: object): boolean {
  return guardOf(server) !== undefined
}

/**
 * Protects a server of `node:http`, `node:https` or `node:http2`: it keeps answering at full capacity however much is asked of it.
 * Call it before `listen()`, before or after a framework is attached.
 *
 * On a server that is protected already (by `--import meltproof/register`, say) it returns that guard.
 *
 * @throws MeltproofError for something that is not such a server, for one that listens already, and for options that
 *   are unknown or out of range. After that nothing of meltproof's ever reaches the app: a failure inside opens the
 *   door for good and is reported once.
 */
export function protect(protectedServer: ProtectedServer, options?: ProtectOptions): Guard {
  // What of node:http's server HTTP/2's lacks is asked for before it is used.
  const server = protectedServer as HttpServer
  if (!isServer(server)) {
    throw new MeltproofError(
      'MELTPROOF_SERVER_INVALID',
      `protect() needs the server that createServer() of node:http, node:https or node:http2 returned; got ${show(server)}. ` +
        'With a framework, pass its server: http.createServer(app) for Express and Koa, fastify.server for Fastify.',
    )
  }
  const existing = guardOf(server)
  if (existing !== undefined) {
    if (options === undefined) return existing
    throw new MeltproofError(
      'MELTPROOF_SERVER_PROTECTED',
      'protect() was called twice on this server, with options the second time. Give the options in the first call, ' +
        'or call close() on the first guard before. (meltproof/register protects every server when it starts to listen.)',
    )
  }
  if (server.listening) {
    throw new MeltproofError(
      'MELTPROOF_SERVER_LISTENING',
      'protect() must be called before listen(): connections accepted until now would go round it.',
    )
  }
  const checked = checkProtectOptions(options === undefined ? {} : options)
  const { lanes: laneCount, answer, deadline, dryRun, readiness, tellsTiming } = checked
  const note = safeWarning(checked.onWarning)
  const tuning = deadline === undefined ? GATE_TUNING : { ...GATE_TUNING, promiseMs: deadline.limitMs }
  const limiter = limiterOf(checked.limit, tuning.promiseMs)
  const heap = heapRoom()
  const gauges = new Gauges(checked.pools, note)
  let draining: Promise<boolean> | undefined
  const paths = readiness === undefined ? checked.exemptPaths : [...checked.exemptPaths, readiness.path]
  const isReadiness = exemptPaths(readiness === undefined ? [] : [readiness.path])
  const { exemptRequest } = checked
  const policy: RequestPolicy = {
    level: criticalityLevels({ criticality: checked.criticality, header: checked.criticalityHeader, note }),
    clients: checked.clientKey && clientsBy(checked.clientKey, note),
    loopBusyMs: checked.limit === undefined ? loopWorkedMs : undefined,
    exemptUrl: exemptPaths(paths),
    exemptRequest: exemptRequest === undefined ? undefined : safely(exemptRequest, note),
    answers:
      isReadiness &&
      ((request, response) => {
        if (!isReadiness(request.url ?? '')) return false
        const { inflight, queued } = door
        const state = { draining: draining !== undefined, pressure: door.pressure(), inflight, queued }
        answerReadiness(readiness!, state, request, response)
        return true
      }),
    dryRun,
    memoryShort: () => heap.short,
  }
  const hooks = {
    onFailure: (error: unknown): void =>
      note(
        `meltproof failed and has stepped aside; the server runs unprotected. ${showThrown(error, { stack: true })}`,
      ),
    ...(tellsTiming === undefined ? {} : { tellsTiming }),
    ...(deadline === undefined
      ? {}
      : { deadlines: new RequestDeadlines(deadline.limitMs, deadline.headers, deadline.trusts) }),
  }
  const door = new RequestInterceptor(server, limiter, new ShedAnswers(answer), hooks, tuning, policy)
  const sessions = sessionsOf(server)
  const raw = belowTls(server)
  const lanes = openLanes(server, { lanes: laneCount, onWarning: note })
  const guard: Guard = {
    stats: () => ({
      inflight: door.inflight,
      stragglers: door.stragglers,
      abandoned: door.abandoned,
      queued: door.queued,
      limit: door.limit,
      admitted: door.counts.admitted,
      exempt: door.counts.exempt,
      shed: { ...door.counts.shed },
      pressure: door.pressure(),
      lanes: lanes.count,
      pools: gauges.read(),
      draining: draining !== undefined,
      dryRun,
    }),
    pressure: () => door.pressure(),
    explain: () => explainShed(door.lastShed, now(), dryRun, gauges.read()),
    drain: (timeoutMs = DRAIN_MS) => {
      checkNumber('drain(timeoutMs)', timeoutMs, { min: 0, max: MOST_DRAIN_MS, unit: 'milliseconds' })
      if (draining !== undefined) return draining
      const { drainDelayMs } = checked
      const longest = longestDelay(timeoutMs)
      if (drainDelayMs !== undefined && drainDelayMs > longest) {
        note(
          `drainDelayMs (${drainDelayMs}) is more than half of drain(${timeoutMs}); the server stops accepting after ` +
            `${longest} ms, so that requests which come last still have time. Give drain() more.`,
        )
      }
      const drainable = {
        server,
        connections: door.connections,
        sessions: sessions.open,
        sockets: () => [...door.upgraded, ...raw.open],
        activeAt: () => door.activeAt,
        lastAnswers: () => door.lastAnswers(),
        shedRest: () => door.shedEverybody(),
      }
      draining = drain(drainable, timeoutMs, drainDelayMs)
      return draining
    },
    close: () => {
      if (guardOf(server) === guard) setGuard(server, undefined)
      door.open()
      lanes.close()
      // A drain that goes on still has to know what is open.
      if (draining !== undefined) return
      raw.stop()
      sessions.stop()
    },
  }
  setGuard(server, guard)
  return guard
}

const DRAIN_MS = 10_000
const MOST_DRAIN_MS = 3_600_000

function limiterOf(limit: number | undefined, promiseMs: number): Limiter {
  if (limit !== undefined) return fixedLimit(limit)
  // Who promises more than a second does not make a second quick.
  return new ConcurrencyLimiter(loopWorkedMs, {
    ...LIMITER_TUNING,
    promiseMs: Math.min(LIMITER_TUNING.promiseMs, promiseMs),
  })
}

/** The operator's function, whose exceptions are said once and mean no. */
function safely(exempt: (request: IncomingMessage) => boolean, warn: Warn): (request: IncomingMessage) => boolean {
  let said = false
  const sayOnce = (what: string): void => {
    if (!said) warn(`the exempt function ${what}; such requests are not exempt`)
    said = true
  }
  return request => {
    try {
      const answer: unknown = exempt(request)
      if (answer === true) return true
      if (caughtPromise(answer)) sayOnce('is async and must answer at once')
      return false
    } catch (error) {
      sayOnce(`threw ${showThrown(error)}`)
      return false
    }
  }
}

/** HTTP/2 servers are known by a method only they have: their classes are not exported. */
function isServer(value: unknown): boolean {
  if (value instanceof HttpServer || value instanceof HttpsServer) return true
  return value instanceof net.Server && typeof (value as Partial<Http2Server>).updateSettings === 'function'
}

interface Watched<T> {
  readonly open: ReadonlySet<T>
  stop(): void
}

/** What TLS runs on, handshakes that never end among them: these are nobody's connection yet, and hold the server open. */
function belowTls(server: net.Server): Watched<net.Socket> {
  return watchEvent(server instanceof TlsServer ? server : undefined, 'connection')
}

function sessionsOf(server: net.Server): Watched<ServerHttp2Session> {
  const isHttp1 = server instanceof HttpServer || server instanceof HttpsServer
  return watchEvent(isHttp1 ? undefined : server, 'session')
}

/** What a server emits and has not closed yet. */
function watchEvent<T extends net.Socket | ServerHttp2Session>(
  server: net.Server | undefined,
  event: 'connection' | 'session',
): Watched<T> {
  const open = new Set<T>()
  const opened = (one: T | undefined): void => {
    // Apps emit these events themselves, with whatever they have.
    if (typeof one?.on !== 'function') return
    open.add(one)
    one.on('close', () => open.delete(one))
  }
  server?.on(event, opened)
  return { open, stop: () => void server?.removeListener(event, opened) }
}
