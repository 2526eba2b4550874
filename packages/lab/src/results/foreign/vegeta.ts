/** Results of vegeta: `vegeta report -type=json`, and the lines of `vegeta encode --to json`. Pure. */
import {
  Broken,
  ForeignRequests,
  type ForeignResult,
  isOk,
  type Members,
  membersOf,
  numberAt,
  requestAt,
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
  if (latencies === undefined || codes === undefined || !('requests' in document)) return undefined
  const requests = numberAt(document, 'requests')
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
    load: { 'rate per second': numberAt(document, 'rate') },
    remarks: [REMARK],
  }
}

/** The lines of `vegeta encode --to json`. */
export const vegetaLines = {
  knows: (line: Members): boolean => 'code' in line && 'latency' in line && 'timestamp' in line,

  read(lines: Iterable<Members>): ForeignResult {
    const requests = new ForeignRequests()
    let url: string | null = null
    let bytesRead = 0
    for (const line of lines) {
      const latencyNs = numberAt(line, 'latency')
      const status = numberAt(line, 'code')
      if (status === null) throw new Broken('a request without its code')
      bytesRead += numberAt(line, 'bytes_in') ?? 0
      url ??= textAt(line, 'url')
      requests.add(requestAt(textAt(line, 'timestamp'), latencyNs === null ? null : latencyNs / NS_PER_MS, status))
    }
    return requests.result('vegeta', { url, unsent: null, bytesRead, remarks: [REMARK] })
  },
}
