/** Results of vegeta: `vegeta report -type=json`, and the lines of `vegeta encode --to json`. Pure. */
import {
  type ForeignRequest,
  type ForeignResult,
  fromRequests,
  isOk,
  type Members,
  membersOf,
  numberAt,
  textAt,
  timeAt,
} from './foreign-result.ts'

const NS_PER_MS = 1e6
const REMARK =
  "vegeta's latencies begin when a request is sent, not when it was due; a freeze of vegeta itself shows nowhere."

/** Undefined for what is no report of vegeta. */
export function vegetaReport(document: Members): ForeignResult | undefined {
  const latencies = membersOf(document['latencies'])
  const codes = membersOf(document['status_codes'])
  const requests = numberAt(document, 'requests')
  if (latencies === undefined || codes === undefined || requests === null) return undefined
  const times = (name: string): number => numberAt(codes, name) ?? 0
  const statuses = Object.keys(codes)
  const figure = (name: string): number | null => {
    const value = numberAt(latencies, name)
    return value === null ? null : value / NS_PER_MS
  }
  const duration = numberAt(document, 'duration')
  return {
    tool: 'vegeta',
    url: null,
    startedAt: timeAt(document, 'earliest'),
    durationMs: duration === null ? null : duration / NS_PER_MS,
    requests,
    unsent: null,
    answered: Object.fromEntries(statuses.filter(name => name !== '0').map(name => [name, times(name)])),
    ok: statuses.filter(isOk).reduce((sum, name) => sum + times(name), 0),
    failed: times('0'),
    latencyOf: 'all requests, failed ones too',
    latencyMs: {
      min: figure('min'),
      mean: figure('mean'),
      p50: figure('50th'),
      p90: figure('90th'),
      p95: figure('95th'),
      p99: figure('99th'),
      p999: null,
      max: figure('max'),
    },
    bytesRead: numberAt(membersOf(document['bytes_in']), 'total'),
    remarks: [REMARK],
  }
}

/** Undefined when the lines are none of vegeta's. */
export function vegetaResults(lines: readonly Members[]): ForeignResult | undefined {
  let bytesRead = 0
  const requests = lines.flatMap((line): ForeignRequest | [] => {
    const status = numberAt(line, 'code')
    const latency = numberAt(line, 'latency')
    const atMs = Date.parse(textAt(line, 'timestamp') ?? '')
    if (status === null || latency === null || Number.isNaN(atMs)) return []
    bytesRead += numberAt(line, 'bytes_in') ?? 0
    return { atMs, latencyMs: latency / NS_PER_MS, status }
  })
  if (requests.length === 0) return undefined
  const url = lines.reduce<string | null>((found, line) => found ?? textAt(line, 'url'), null)
  return fromRequests('vegeta', requests, { url, bytesRead, remarks: [REMARK] })
}
