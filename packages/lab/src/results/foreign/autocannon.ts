/** The result of `autocannon --json`. Pure. */
import { type ForeignResult, isOk, type Members, membersOf, numberAt, textAt, timeAt } from './foreign-result.ts'

/** Undefined for what is no result of autocannon. */
export function autocannonResult(document: Members): ForeignResult | undefined {
  const requests = membersOf(document['requests'])
  const measured = membersOf(document['latency'])
  if (requests === undefined || measured === undefined || !('pipelining' in document)) return undefined
  const answers = numberAt(requests, 'total')
  // It tells the latency of nothing as 0.
  const latency = answers === 0 ? undefined : measured
  const codes = membersOf(document['statusCodeStats'])
  const answered =
    codes === undefined
      ? null
      : Object.fromEntries(
          Object.entries(codes).map(([status, stats]) => [status, numberAt(membersOf(stats), 'count') ?? 0]),
        )
  const byClass = numberAt(document, '2xx')
  const ok =
    answered === null
      ? byClass === null
        ? null
        : byClass + (numberAt(document, '3xx') ?? 0)
      : Object.entries(answered).reduce((sum, [status, times]) => sum + (isOk(status) ? times : 0), 0)
  const seconds = numberAt(document, 'duration')
  const samples = numberAt(latency, 'totalCount')
  return {
    tool: 'autocannon',
    url: textAt(document, 'url'),
    startedAt: timeAt(document, 'start'),
    durationMs: seconds === null ? null : seconds * 1000,
    requests: numberAt(requests, 'sent'),
    unsent: null,
    answered,
    ok,
    failed: numberAt(document, 'errors'),
    latencyOf: 'all answers, whatever their status',
    latencyMs: {
      min: numberAt(latency, 'min'),
      mean: numberAt(latency, 'average'),
      p50: numberAt(latency, 'p50'),
      p90: numberAt(latency, 'p90'),
      p95: null,
      p99: numberAt(latency, 'p99'),
      p999: numberAt(latency, 'p99_9'),
      max: numberAt(latency, 'max'),
    },
    bytesRead: numberAt(membersOf(document['throughput']), 'total'),
    load: {
      'number of connections': numberAt(document, 'connections'),
      pipelining: numberAt(document, 'pipelining'),
    },
    remarks: [
      "autocannon's latencies begin when a request is sent, in whole milliseconds.",
      ...(samples !== null && answers !== null && samples > answers
        ? [
            `Of its ${samples} latencies ${samples - answers} are no request's: autocannon adds them for requests it sent late.`,
          ]
        : []),
    ],
  }
}
