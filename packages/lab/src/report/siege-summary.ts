/** A closed-loop run in the words and units of siege 4. Pure. */
import type { LoadFigures } from './load-figures.ts'

export function siegeSummary(figures: LoadFigures): string {
  const { ok, sent, elapsedMs, bytesRead, okMs } = figures
  const seconds = Math.max(0.001, elapsedMs / 1000)
  const megabytes = bytesRead / 1024 / 1024
  const secs = (ms: number | null): string => ((ms ?? 0) / 1000).toFixed(2)
  // As siege counts it: the time spent in transactions over the time that passed.
  const concurrency = ((okMs.mean ?? 0) * ok) / 1000 / seconds
  const rows: [string, string, string][] = [
    ['Transactions', String(ok), 'hits'],
    ['Availability', (sent === 0 ? 0 : (100 * ok) / sent).toFixed(2), '%'],
    ['Elapsed time', seconds.toFixed(2), 'secs'],
    ['Data transferred', megabytes.toFixed(2), 'MB'],
    ['Response time', secs(okMs.mean), 'secs'],
    ['Transaction rate', (ok / seconds).toFixed(2), 'trans/sec'],
    ['Throughput', (megabytes / seconds).toFixed(2), 'MB/sec'],
    ['Concurrency', concurrency.toFixed(2), ''],
    ['Successful transactions', String(ok), ''],
    ['Failed transactions', String(sent - ok), ''],
    ['Longest transaction', secs(okMs.max), ''],
    ['Shortest transaction', secs(okMs.min), ''],
  ]
  return `${rows.map(([name, value, unit]) => `${`${name}:`.padEnd(25)}${value.padStart(10)} ${unit}`.trimEnd()).join('\n')}\n`
}
