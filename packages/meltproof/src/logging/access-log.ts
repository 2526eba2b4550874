/** meltproof/access-log: writes a line for each request of a guard. It never throws into the service. */
import type { IncomingMessage } from 'node:http'
import { type RequestMessage, requests, type ShedMessage, sheds } from '../channels.ts'
import { dateAt, wallClockMs } from '../clock.ts'
import { checkGuard, showThrown } from '../options.ts'
import { LEFT } from '../record.ts'
import { type AccessEntry, isAlwaysLogged } from './access-log/access-line.ts'
import { type AccessLogOptions, checkAccessLogOptions, shareAt } from './access-log/options.ts'
import { maskedAddress, redactTarget } from './access-log/redact.ts'
import { secretNames } from './access-log/secret-names.ts'
import { enableRequestTiming } from '../timing/observed.ts'
import { traceOf } from '../timing/traceparent.ts'
import { warnOnce } from '../warnings.ts'

export type { AccessLogOptions, FieldLogger } from './access-log/options.ts'

/** @experimental */
export interface PressureGuard {
  pressure(): number
}

/** Fields of requests whose handler never ran. */
const UNSERVED = {
  route: undefined,
  stalledMs: 0,
  dependencyMs: 0,
  poolMs: 0,
  networkMs: 0,
  ownMs: 0,
  lateMs: 0,
  calls: 0,
  verdict: 'self',
} as const

/** The client fields of a line for several requests. */
const SEVERAL = {
  httpVersion: '1.1',
  remote: undefined,
  referer: undefined,
  userAgent: undefined,
  traceId: undefined,
}

/**
 * Logs the requests of `guard`. The returned function ends this.
 *
 * ```js
 * accessLog(protect(server), { sample: 0.5 })
 * ```
 * @throws MeltproofError with code MELTPROOF_OPTION_UNKNOWN or MELTPROOF_OPTION_INVALID.
 * @experimental
 */
export function accessLog(guard: PressureGuard, options: AccessLogOptions = {}): () => void {
  checkGuard('accessLog(guard, options)', guard, 'pressure')
  const settings = checkAccessLogOptions(options)
  const isSecret = secretNames(settings.redact)
  const failed = warnOnce()

  const log = (guarded: object, status: number, outcome: string, entry: (sampled: number) => AccessEntry): void => {
    if (guarded !== guard) return
    // An exception of a subscriber would end the process, so it is caught here.
    try {
      const sampled = isAlwaysLogged(status, outcome) ? 1 : shareAt(settings.sampling, guard.pressure())
      if (sampled < 1 && Math.random() >= sampled) return
      settings.emit(entry(sampled))
    } catch (error) {
      failed(`meltproof/access-log could not write a line; the service goes on. ${showThrown(error)}`)
    }
  }
  const ofClient = (request: IncomingMessage) => {
    const { referer, traceparent, 'user-agent': userAgent } = request.headers
    const remote = settings.address === 'none' ? undefined : request.socket?.remoteAddress
    return {
      httpVersion: request.httpVersion,
      remote: remote !== undefined && settings.address === 'masked' ? maskedAddress(remote) : remote,
      referer: referer === undefined ? undefined : redactTarget(referer, isSecret),
      userAgent,
      traceId: traceOf(traceparent)?.id,
    }
  }
  const onRequest = ({ record, guard: guarded, request }: RequestMessage): void =>
    log(guarded, record.status, record.outcome, sampled => ({
      ...ofClient(request),
      ...record,
      arrived: dateAt(wallClockMs() - record.totalMs),
      url: redactTarget(record.url, isSecret),
      shedReason: undefined,
      count: 1,
      sampled,
    }))
  const onShed = ({ record, guard: guarded, request }: ShedMessage): void => {
    const left = record.reason === LEFT
    const status = left ? 0 : 503
    const outcome = left ? 'aborted' : 'shed'
    log(guarded, status, outcome, sampled => ({
      ...(request === undefined ? SEVERAL : ofClient(request)),
      ...UNSERVED,
      status,
      outcome,
      arrived: dateAt(wallClockMs() - record.waitedMs),
      method: request?.method ?? record.method,
      url: redactTarget(request?.url ?? '', isSecret),
      shedReason: left ? undefined : record.reason,
      totalMs: record.waitedMs,
      queuedMs: record.waitedMs,
      bytes: request === undefined ? undefined : record.bytes,
      count: record.count,
      sampled,
    }))
  }
  enableRequestTiming()
  requests.subscribe(onRequest)
  sheds.subscribe(onShed)
  return () => {
    requests.unsubscribe(onRequest)
    sheds.unsubscribe(onShed)
  }
}
