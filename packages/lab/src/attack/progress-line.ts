/** The progress of an attack in one terminal line. Pure. */
import { formatDuration } from '../durations.ts'
import type { LoadProgress } from '../load/plan.ts'
import { bar } from '../progress.ts'
import { formatCount, formatRate } from '../report/format.ts'

/** One column less than a terminal has, so that the cursor stays on the line. */
const WIDEST = 79

/** @param label the offered load, such as `200/s` */
export function progressLine(label: string, durationMs: number): (seen: LoadProgress) => string {
  let before = { good: 0, elapsedMs: 0 }
  return seen => {
    const lengthS = (seen.elapsedMs - before.elapsedMs) / 1000
    const good = lengthS > 0 ? (seen.good - before.good) / lengthS : 0
    before = seen
    const parts = [
      `${label}  ${bar(seen.elapsedMs / durationMs, 10)}`,
      `${(seen.elapsedMs / 1000).toFixed(0)}s of ${formatDuration(durationMs)}`,
      `good ${formatRate(good)}/s`,
      `in flight ${formatCount(seen.inflight)}`,
      ...Object.entries({ ...seen.answered, ...seen.failed }).map(([name, times]) => `${name} ${formatCount(times)}`),
    ]
    let line = parts.shift()!
    for (const part of parts) {
      if (line.length + 2 + part.length > WIDEST) break
      line += `  ${part}`
    }
    return line
  }
}
