/** Logs a dry run under meltproof/register: a line that announces it, then the would-be sheds at growing intervals. */
import { setInterval } from 'node:timers'
import { now } from '../clock.ts'
import { printsForCluster } from '../loaded.ts'
import type { GuardStats } from '../server/guard.ts'
import { quietly } from '../warnings.ts'

type Figures = Pick<GuardStats, 'admitted' | 'shed'>

/** Interval of the checks, ms: short enough for an operator who watches a first test. */
const LOOK_EVERY_MS = 5000
/** Maximum pause between two lines; each pause is twice the one before. */
const LONGEST_PAUSE_MS = 60_000

/** @param figures returns the figures of all servers since the start; undefined before the first server listens */
export function printDryRun(figures: () => Figures | undefined, print: (text: string) => void): void {
  if (printsForCluster()) {
    print(
      'is in a dry run: every request is served. Would-be sheds are logged at growing intervals. No line means none.',
    )
  }
  const lineOf = dryRunLines(now())
  const look = (): void => {
    const seen = figures()
    const line = seen && lineOf(seen, now())
    if (line !== undefined) print(line)
  }
  // An exception in a timer would end the app.
  setInterval(() => quietly(look), LOOK_EVERY_MS).unref()
}

/**
 * Decides when a line is due, and writes it. The returned function returns a line if there were sheds and the last
 * pause is over. Sheds during a pause are included in the next line. Pure.
 */
export function dryRunLines(startMs: number): (figures: Figures, nowMs: number) => string | undefined {
  let before: { readonly admitted: number; readonly shed: Readonly<Record<string, number>> } = { admitted: 0, shed: {} }
  let beforeMs = startMs
  let notBeforeMs = Number.NEGATIVE_INFINITY
  let pauseMs = LOOK_EVERY_MS
  return (figures, nowMs) => {
    const reasons = Object.entries(figures.shed)
      .map(([reason, count]) => ({ reason, count: count - (before.shed[reason] ?? 0) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count)
    if (reasons.length > 0 && nowMs < notBeforeMs) return undefined
    const shed = reasons.reduce((sum, { count }) => sum + count, 0)
    const all = shed + figures.admitted - before.admitted
    const seconds = Math.round((nowMs - beforeMs) / 1000)
    before = figures
    beforeMs = nowMs
    if (shed === 0) return undefined
    pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)
    notBeforeMs = nowMs + pauseMs
    const why = reasons.map(({ reason, count }) => `${reason} ${count}`).join(', ')
    return `would have shed ${shed} of ${all} requests in the last ${seconds} s (${why}). In this dry run all were served.`
  }
}
