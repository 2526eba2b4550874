import { Server as HttpServer } from 'node:http'
import type { Http2SecureServer, Http2Server } from 'node:http2'
import type { Server as HttpsServer } from 'node:https'
import net from 'node:net'
import { GATE_TUNING } from '../admission/gate.ts'
import { LIMITER_TUNING } from '../admission/limiter/tuning.ts'
import { CRITICALITY_FIELD } from '../chain.ts'
import { now } from '../clock.ts'
import { MeltproofError } from '../errors.ts'
import { isHttp2Server, isHttpsServer } from '../loaded.ts'
import { checkNumber, show, showThrown } from '../options.ts'
import { type LoadFigures, limiterOf } from '../process-gate.ts'
import { processMemory } from '../signals/memory.ts'
import { stallNaming } from '../signals/named-stalls.ts'
import { openLanes } from './connection/lanes.ts'
import { kindNames } from './gate/request-kinds.ts'
import { type Guard, guardOf, setGuard } from './guard.ts'
import { drain, longestDelay } from './operate/drain.ts'
import { onFlush } from './operate/held-answers-of.ts'
import { http2Sessions, socketsBelowTls } from './operate/open-sessions.ts'
import { answerReadiness } from './operate/readiness.ts'
import { type CheckedOptions, checkProtectOptions, type ProtectOptions } from './protect-options.ts'
import { clientsBy } from './request/client-key.ts'
import { criticalityLevels } from './request/criticality-of.ts'
import { exemptPaths } from './request/exempt-paths.ts'
import { safely } from './request/operators-function.ts'
import type { RequestPolicy } from './request/policy.ts'
import { RequestPath } from './request-path.ts'
import { LoadReports } from './response/load-reports.ts'
import { requestObserver } from './response/observer.ts'
import { OwnAnswers } from './response/own-answers.ts'
import { safeWarning, type Warn } from '../warnings.ts'

/** The servers that protect() accepts. */
export type ProtectedServer = HttpServer | HttpsServer | Http2Server | Http2SecureServer

/**
 * Protects a server of `node:http`, `node:https` or `node:http2`, so that it serves as many requests in time as it can,
 * and rejects the rest. Call it before `listen()`, before or after a framework is attached.
 *
 * On a server that is already protected (for example by `--import meltproof/register`) it returns the existing guard.
 *
 * @throws MeltproofError for something other than such a server, for one that already listens, for options on a server
 *   that is already protected, and for options that are unknown or out of range. Later failures inside meltproof never
 *   reach the app: meltproof removes itself from the server and reports it once.
 */
export function protect(protectedServer: ProtectedServer, options?: ProtectOptions): Guard {
  // HTTP/2 servers lack some methods of node:http's servers; the code checks before it calls them.
  const server = protectedServer as HttpServer
  const existing = checkServer(server, options)
  if (existing !== undefined) return existing
  const checked = checkProtectOptions(options === undefined ? {} : options)
  const { deadlineMs, dryRun, readiness } = checked
  const warn = safeWarning(checked.onWarning)
  const tuning = deadlineMs === undefined ? GATE_TUNING : { ...GATE_TUNING, promiseMs: deadlineMs }
  let draining: Promise<boolean> | undefined
  const loadFigures = (nowMs: number): LoadFigures | undefined => {
    const figures = path.processGate.loadFigures(nowMs)
    // In a dry run no client gets a 503, so no shed is reported.
    return figures && dryRun ? { ...figures, shedPerS: 0 } : figures
  }
  const reports = checked.reportLoadTo && new LoadReports(checked.reportLoadTo, loadFigures)
  const isReadiness = readiness && exemptPaths([readiness.path])
  const guard: Guard = {
    stats: () => {
      let open = path.connections.requests
      for (const session of sessions.open) open += session.streams
      const stalls = stallNaming.figures?.seconds()
      const stats = { ...path.stats(), open, lanes: lanes.count, draining: draining !== undefined, dryRun }
      return stalls === undefined ? stats : { ...stats, stalls }
    },
    pressure: () => path.processGate.load.pressure(now()),
    explain: () => {
      const sheds = path.processGate.explain(dryRun ? 'request that would have been shed' : 'request that was shed')
      const stalls = stallNaming.figures
      return stalls === undefined ? sheds : `${sheds} ${stalls.explain()}`
    },
    drain: (timeoutMs = DRAIN_MS, leavesEndless = false) => {
      checkNumber('drain(timeoutMs)', timeoutMs, { min: 0, max: MOST_DRAIN_MS, unit: 'milliseconds' })
      if (draining !== undefined) return draining
      const { drainDelayMs } = checked
      const longest = longestDelay(timeoutMs)
      if (drainDelayMs !== undefined && drainDelayMs > longest) {
        warn(
          `drainDelayMs (${drainDelayMs}) is more than half of drain(${timeoutMs}); the server stops accepting connections after ` +
            `${longest} ms, so that the last requests still have time. Give drain() a longer timeout.`,
        )
      }
      const open = { sessions: sessions.open, sockets: belowTls.open }
      const drained = drain({ server, path, lanes, ...open, delayMs: drainDelayMs, leavesEndless }, timeoutMs)
      draining = drained.finally(() => path.shedding.records?.publishRest())
      return draining
    },
    close: () => {
      path.shedding.records?.publishRest()
      if (guardOf(server) === guard) setGuard(server, undefined)
      path.processGate.failOpen.open()
      lanes.close()
      // A drain in progress still needs the open sockets and sessions.
      if (draining !== undefined) return
      belowTls.stop()
      sessions.stop()
    },
  }
  const path = new RequestPath(server, {
    guard,
    // A longer deadline must not make the limiter accept slower answers.
    limiter: limiterOf(checked.limit, { promiseMs: Math.min(LIMITER_TUNING.promiseMs, tuning.promiseMs) }),
    answers: new OwnAnswers({
      retryAfterS: checked.retryAfterS,
      headers: checked.shedHeaders,
      body: checked.shedBody,
      page: checked.shedPage,
      pressure: () => path.processGate.load.pressure(),
      reports,
    }),
    onFailure: error =>
      warn(
        `meltproof failed in process ${process.pid} and has stepped aside; its server runs unprotected. ${showThrown(error, { stack: true })}`,
      ),
    policy: {
      ...policyOf(checked, warn),
      reportsLoad: reports && ((request, response) => reports.onto(request, response)),
      answers:
        isReadiness &&
        ((request, response) => {
          if (!isReadiness(request.url ?? '')) return false
          answerReadiness(guard.stats(), request, response, readiness.unreadyAbovePressure)
          return true
        }),
    },
    tuning,
    deadline:
      deadlineMs === undefined
        ? undefined
        : { limitMs: deadlineMs, headers: checked.deadlineHeaders, trusts: checked.trustCallersFrom },
  })
  if (checked.serverTiming !== undefined) requestObserver()
  const sessions = http2Sessions(server)
  const belowTls = socketsBelowTls(server)
  const lanes = openLanes(server, checked.lanes, warn)
  setGuard(server, guard)
  onFlush(guard, () => path.shedding.held.end())
  return guard
}

const DRAIN_MS = 10_000
const MOST_DRAIN_MS = 3_600_000

function checkServer(server: net.Server, options: ProtectOptions | undefined): Guard | undefined {
  if (!isServer(server)) {
    throw new MeltproofError(
      'MELTPROOF_SERVER_INVALID',
      `protect() needs the server that createServer() of node:http, node:https or node:http2 returned; got ${show(server)}. ` +
        'With a framework, pass its server: http.createServer(app) for Express and Koa, fastify.server for Fastify.',
    )
  }
  const existing = guardOf(server)
  if (existing !== undefined && options !== undefined) {
    throw new MeltproofError(
      'MELTPROOF_SERVER_PROTECTED',
      'protect() was called twice on this server, with options the second time. Give the options in the first call, ' +
        'or call close() on the first guard first. (meltproof/register protects every server when it starts to listen.)',
    )
  }
  if (existing === undefined && server.listening) {
    throw new MeltproofError(
      'MELTPROOF_SERVER_LISTENING',
      'protect() must be called before listen(): it would not see connections that were accepted earlier.',
    )
  }
  return existing
}

export function isServer(value: unknown): value is ProtectedServer {
  if (!(value instanceof net.Server)) return false
  return value instanceof HttpServer || isHttpsServer(value) || isHttp2Server(value)
}

function policyOf(checked: CheckedOptions, warn: Warn): RequestPolicy {
  const { exempt, clientKey, kind, readiness } = checked
  const paths = typeof exempt === 'function' ? [] : exempt
  return {
    level: criticalityLevels(checked.criticality, checked.criticalityHeader, warn, checked.trustCallersFrom),
    trustsCaller: checked.trustCallersFrom,
    anybodyNamesClass: checked.trustCallersFrom === undefined && checked.criticalityHeader === CRITICALITY_FIELD,
    clients: clientKey && clientsBy(clientKey, warn),
    kindName: kind && kindNames(kind, warn),
    exemptUrl: exemptPaths(readiness === undefined ? paths : [...paths, readiness.path]),
    exemptRequest:
      typeof exempt === 'function'
        ? safely({
            name: 'exempt',
            call: exempt,
            read: answer => (typeof answer === 'boolean' ? answer : undefined),
            expected: 'true or false',
            otherwise: 'such requests are not exempt',
            warn,
          })
        : undefined,
    sendsServerTiming: checked.serverTiming,
    dryRun: checked.dryRun,
    memory: processMemory(),
  }
}
