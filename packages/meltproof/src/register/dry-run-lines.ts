/** Logs a dry run under meltproof/register: a line that announces it, then the would-be sheds at growing intervals. */
import { now } from '../clock.ts'
import type { GuardStats } from '../server/guard.ts'

type Figures = Pick<GuardStats, 'admitted' | 'shed'>

/** Interval of the checks, ms: short enough for an operator who watches a first test. */
const LOOK_EVERY_MS = 5000
/** Maximum pause between two lines; each pause is twice the one before. */
const LONGEST_PAUSE_MS = 60_000

interface Printers {
  /** Prints a line once for all workers of a cluster. */
  readonly all: (text: string) => void
  /** Prints a line in each worker: `all` would suppress a line that equals an earlier one. */
  readonly each: (text: string) => void
}

/** @param figures returns the figures of all servers since the start; undefined before the first server listens */
export function printDryRun(figures: () => Figures | undefined, tell: Printers): void {
  tell.all(
    'is in a dry run: every request is served. Would-be sheds are logged at growing intervals. No line means none.',
  )
  const lines = new DryRunLines(now())
  setInterval(() => {
    try {
      const seen = figures()
      const line = seen === undefined ? undefined : lines.look(seen, now())
      if (line !== undefined) tell.each(line)
    } catch {
      // The exception is ignored, because in a timer it would end the app.
    }
  }, LOOK_EVERY_MS).unref()
}

/** Decides when a line is due, and what it says. Pure. */
export class DryRunLines {
  #before: { readonly admitted: number; readonly shed: Readonly<Record<string, number>> } = { admitted: 0, shed: {} }
  #beforeMs: number
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #pauseMs = LOOK_EVERY_MS

  constructor(nowMs: number) {
    this.#beforeMs = nowMs
  }

  /** Returns a line if there were sheds and no pause is on. Sheds during a pause are included in the next line. */
  look(figures: Figures, nowMs: number): string | undefined {
    const reasons = Object.entries(figures.shed)
      .map(([reason, count]) => ({ reason, count: count - (this.#before.shed[reason] ?? 0) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count)
    if (reasons.length > 0 && nowMs < this.#notBeforeMs) return undefined
    const shed = reasons.reduce((sum, { count }) => sum + count, 0)
    const all = shed + figures.admitted - this.#before.admitted
    const seconds = Math.round((nowMs - this.#beforeMs) / 1000)
    this.#before = figures
    this.#beforeMs = nowMs
    if (shed === 0) return undefined
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.#pauseMs)
    this.#notBeforeMs = nowMs + this.#pauseMs
    const why = reasons.map(({ reason, count }) => `${reason} ${count}`).join(', ')
    return `would have shed ${shed} of ${all} requests in the last ${seconds} s (${why}). In this dry run all were served.`
  }
}
