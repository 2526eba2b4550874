/**
 * Results of k6: the summary (`--summary-export`, what `handleSummary` gets, and the machine-readable one of k6 1.5 and later)
 * and the lines of `--out json`. Pure.
 */
import {
  ForeignRequests,
  type ForeignResult,
  type Members,
  membersOf,
  numberAt,
  requestAt,
  textAt,
} from './foreign-result.ts'

const REMARK = "k6's latencies begin when a request is sent, not when it was due: a stall hides those that waited."

/** Undefined for what is no summary of k6. */
export function k6Summary(document: Members): ForeignResult | undefined {
  const metrics = metricsOf(document)
  const told = metrics?.get('http_reqs')
  if (metrics === undefined || told === undefined || !('count' in told)) return undefined
  const requests = numberAt(told, 'count')
  const failures = metrics.get('http_req_failed')
  // The first is what failed; `passes` because as a condition it was met.
  const failed = numberAt(failures, 'matches') ?? numberAt(failures, 'passes')
  const expected = metrics.get('http_req_duration{expected_response:true}')
  const latency = expected ?? metrics.get('http_req_duration')
  const figure = (...names: readonly string[]): number | null =>
    names.reduce<number | null>((found, name) => found ?? numberAt(latency, name), null)
  return {
    tool: 'k6',
    url: null,
    startedAt: null,
    durationMs: durationOf(document, told),
    requests,
    unsent: numberAt(metrics.get('dropped_iterations'), 'count'),
    answered: null,
    ok: failed === null || requests === null ? null : requests - failed,
    // Of what is not ok it does not say which was answered.
    failed: failed === 0 ? 0 : null,
    latencyOf: expected === undefined ? 'all requests' : 'answers 2xx and 3xx',
    latencyMs: {
      min: figure('min'),
      mean: figure('avg'),
      p50: figure('med', 'p(50)', 'p50'),
      p90: figure('p(90)', 'p90'),
      p95: figure('p(95)', 'p95'),
      p99: figure('p(99)', 'p99'),
      p999: figure('p(99.9)', 'p99.9', 'p99_9'),
      max: figure('max'),
    },
    bytesRead: numberAt(metrics.get('data_received'), 'count'),
    load: { 'number of VUs': numberAt(metrics.get('vus_max'), 'max') },
    remarks: [REMARK],
  }
}

/** By name: an object of them, each with its values in it or in `values`, or a list. */
function metricsOf(document: Members): ReadonlyMap<string, Members> | undefined {
  const listed = membersOf(document['results'])?.['metrics']
  if (Array.isArray(listed)) {
    const named = listed.flatMap(each => {
      const metric = membersOf(each)
      const name = textAt(metric, 'name')
      const values = membersOf(metric?.['values'])
      return name === null || values === undefined ? [] : [[name, values] as const]
    })
    return new Map(named)
  }
  const metrics = membersOf(document['metrics'])
  if (metrics === undefined) return undefined
  return new Map(
    Object.entries(metrics).flatMap(([name, value]) => {
      const metric = membersOf(value)
      return metric === undefined ? [] : [[name, membersOf(metric['values']) ?? metric]]
    }),
  )
}

function durationOf(document: Members, requests: Members): number | null {
  const told = numberAt(membersOf(document['state']), 'testRunDurationMs')
  const seconds = numberAt(membersOf(document['config']), 'duration')
  const rate = numberAt(requests, 'rate')
  const count = numberAt(requests, 'count')
  if (told !== null) return told
  if (seconds !== null) return seconds * 1000
  // The rate is the count over the length of the test.
  return rate === null || rate === 0 || count === null ? null : (count / rate) * 1000
}

/** The lines of `--out json`. */
export const k6Lines = {
  knows: (line: Members): boolean => 'metric' in line && (line['type'] === 'Metric' || line['type'] === 'Point'),

  read(lines: Iterable<Members>): ForeignResult | undefined {
    const requests = new ForeignRequests()
    let url: string | null = null
    let unsent: number | null = null
    for (const line of lines) {
      const data = membersOf(line['data'])
      if (line['type'] !== 'Point' || data === undefined) continue
      if (line['metric'] === 'dropped_iterations') unsent = (unsent ?? 0) + (numberAt(data, 'value') ?? 0)
      if (line['metric'] !== 'http_req_duration') continue
      const tags = membersOf(data['tags'])
      const status = textAt(tags, 'status')
      url ??= textAt(tags, 'url')
      requests.add(
        requestAt(textAt(data, 'time'), numberAt(data, 'value'), status === null ? null : Number(status) || 0),
      )
    }
    if (requests.count === 0) return undefined
    return requests.result('k6', { url, unsent, bytesRead: null, remarks: [REMARK] })
  },
}
