/** The seconds of a load run as CSV (RFC 4180), one row each. Pure. */
import { totalOf } from '../load/added.ts'
import type { LoadOutcome, LoadSecond } from '../load/plan.ts'

type Cell = number | undefined

/** `ok`: 2xx and 3xx answers. Latencies, in ms, are those of `ok` (`shed_`: of 503), and empty without such answers. */
const COLUMNS: readonly (readonly [name: string, read: (second: LoadSecond) => Cell])[] = [
  ['second', second => second.second],
  ['scheduled', second => second.scheduled],
  ['sent', second => second.sent],
  ['ok', second => second.okLatency.count],
  ['good', second => second.good],
  ['shed', second => second.shedLatency.count],
  ['other', second => totalOf(second.answered) - second.okLatency.count - second.shedLatency.count],
  ['failed', second => totalOf(second.failed)],
  ['p50_ms', second => second.okLatency.percentile(50)],
  ['p90_ms', second => second.okLatency.percentile(90)],
  ['p99_ms', second => second.okLatency.percentile(99)],
  ['max_ms', second => second.okLatency.max],
  ['shed_p99_ms', second => second.shedLatency.percentile(99)],
]

export function secondRows({ seconds }: Pick<LoadOutcome, 'seconds'>): string {
  const rows = seconds.map(second => COLUMNS.map(([, read]) => cell(read(second))).join(','))
  return `${[COLUMNS.map(([name]) => name).join(','), ...rows].join('\r\n')}\r\n`
}

const cell = (value: Cell): string =>
  value === undefined || Number.isNaN(value) ? '' : String(Math.round(value * 1000) / 1000)
