/** The result of another tool as the terminal shows it, within 80 columns; what it does not say is said last. Pure. */
import { formatBytes, formatCount, formatCounts, formatMs, formatRate } from '../../report/format.ts'
import { wrapWords } from '../../report/wrap-words.ts'
import type { ForeignResult } from './foreign-result.ts'

const WIDTH = 80
const NAMES = {
  min: 'min',
  mean: 'mean',
  p50: 'p50',
  p90: 'p90',
  p95: 'p95',
  p99: 'p99',
  p999: 'p99.9',
  max: 'max',
} as const

type Name = keyof typeof NAMES
/** Stands for a blank at which no line is broken. */
const UNBROKEN = '\u00a0'

export function foreignText(result: ForeignResult): string {
  const { tool, requests, unsent, durationMs, answered, ok, failed, latencyMs, bytesRead } = result
  const known = Object.entries(NAMES).filter(([name]) => latencyMs[name as Name] !== null)
  const seconds = durationMs === null || durationMs === 0 ? null : durationMs / 1000
  const rows: readonly (readonly [name: string, text: string | null])[] = [
    ['measured by', tool],
    ['URL', result.url],
    ['start', result.startedAt],
    ['duration', durationMs === null ? null : formatMs(durationMs)],
    ['requests sent', requests === null ? null : formatCount(requests)],
    ['requests never sent', unsent === null ? null : formatCount(unsent)],
    ['rate sent', requests === null || seconds === null ? null : `${formatRate(requests / seconds)}/s`],
    ['answers 2xx and 3xx', ok === null ? null : formatCount(ok)],
    ['status codes', answered === null ? null : formatCounts(answered) || 'none'],
    ['failed', failed === null ? null : formatCount(failed)],
    ['bytes read', bytesRead === null ? null : formatBytes(bytesRead)],
    ['latencies', known.length === 0 ? null : `of ${result.latencyOf}`],
    [
      '',
      known
        .map(([name, title]) => `${title} ${formatMs(latencyMs[name as Name])}`.replaceAll(' ', UNBROKEN))
        .join(', '),
    ],
  ]
  const missing = [
    ...rows.flatMap(([name, text]) => (text === null ? name : [])),
    ...Object.entries(NAMES).flatMap(([name, title]) => (latencyMs[name as Name] === null ? title : [])),
    ...ALWAYS,
  ]
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  return [
    ...rows.flatMap(([name, text]) =>
      text === null || text === ''
        ? []
        : wrapWords(text, WIDTH - width).map(
            (line, at) => `${(at === 0 ? name : '').padEnd(width)}${line.replaceAll(UNBROKEN, ' ')}`,
          ),
    ),
    ...result.remarks.flatMap(remark => wrapWords(remark, WIDTH)),
    ...wrapWords(`Not said: ${missing.join(', ')}.`, WIDTH),
    '',
  ].join('\n')
}

/** No tool but ours. */
const ALWAYS = ['goodput within an SLO', 'the plan', 'the machine', 'how late the tool itself was']
