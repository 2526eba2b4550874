/** An open-loop run in the words of `vegeta report`. Pure. */
import { STATUS_CODES } from 'node:http'
import type { LoadFigures } from './load-figures.ts'

export function vegetaSummary(figures: LoadFigures): string {
  const { scheduled, ok, durationMs, elapsedMs, allMs, bytesRead, answered, failed } = figures
  const perSecond = (count: number, ms: number): string => (count / Math.max(0.001, ms / 1000)).toFixed(2)
  const failures = Object.entries(failed).filter(([, count]) => count > 0)
  const codes = [
    // Vegeta counts what got no answer as status 0.
    ...(failures.length === 0 ? [] : [['0', failures.reduce((sum, [, count]) => sum + count, 0)] as const]),
    ...Object.entries(answered),
  ]
  const rows: [string, string, string][] = [
    [
      'Requests',
      '[total, rate, throughput]',
      `${scheduled}, ${perSecond(scheduled, durationMs)}, ${perSecond(ok, elapsedMs)}`,
    ],
    [
      'Duration',
      '[total, attack, wait]',
      [elapsedMs, durationMs, Math.max(0, elapsedMs - durationMs)].map(duration).join(', '),
    ],
    [
      'Latencies',
      '[mean, 50, 95, 99, max]',
      [allMs.mean, allMs.p50, allMs.p95, allMs.p99, allMs.max].map(duration).join(', '),
    ],
    ['Bytes In', '[total, mean]', `${bytesRead}, ${(bytesRead / Math.max(1, scheduled)).toFixed(2)}`],
    ['Success', '[ratio]', `${((100 * ok) / Math.max(1, scheduled)).toFixed(2)}%`],
    ['Status Codes', '[code:count]', codes.map(([code, count]) => `${code}:${count}`).join('  ')],
  ]
  const errors = [
    ...Object.keys(answered)
      .filter(code => Number(code) >= 400)
      .map(code => `${code} ${STATUS_CODES[code] ?? ''}`.trimEnd()),
    ...failures.map(([code]) => code),
  ]
  const lines = rows.map(([name, what, value]) => `${name.padEnd(14)}${what.padEnd(27)}${value}`)
  return `${[...lines, 'Error Set:', ...errors].join('\n')}\n`
}

/** Pure: as Go writes durations, to three digits after the point. */
function duration(ms: number | null): string {
  if (ms === null) return '0s'
  if (ms < 1000) return `${Number(ms.toFixed(3))}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${Number(((ms % 60_000) / 1000).toFixed(3))}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}
