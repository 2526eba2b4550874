/**
 * Decides whether a run's figures are the server's, and says in plain sentences why not. Pure.
 *
 * What counts is not how late the generator was, but whether its lateness shows: every latency was recorded twice, as
 * measured and without the generator's own delay (late sending, waiting for a free connection under a cap, reading
 * late). Where the two disagree on a figure that gets reported, the figure is not the server's. A generator 5 ms late
 * does not touch a p50 of 3 s, and ruins one of 2 ms.
 */
import type { EngineReport } from './engine.ts'
import type { Histogram } from './histogram.ts'
import type { Freeze } from './pacer.ts'
import type { LoadPlan } from './plan.ts'
import type { Pair } from './tally.ts'

/** A figure up to p99 may owe this much to the generator: milliseconds, or a share of itself, whichever is more. */
const FIGURE_MS = 1
const FIGURE_SHARE = 0.05
/** The extremes rest on a handful of samples and one slice of a scheduler moves them: wider. */
const EXTREME_MS = 20
const EXTREME_SHARE = 0.1
/** Share of goodput that may be lost to the generator's lateness. */
const GOOD_SHARE = 0.01
/** A closed loop is as fast as its two ends; beyond this share of a core the slow end was ours. */
const SATURATED = 0.9

export interface Evidence {
  readonly plan: LoadPlan
  readonly workers: readonly EngineReport[]
  readonly ok: Pair<Histogram>
  readonly shed: Pair<Histogram>
  readonly other: Pair<Histogram>
  readonly sendLag: Histogram
  readonly connectionWait: Histogram
  readonly good: number
  readonly goodLost: number
  readonly reasons: Readonly<Record<string, number>>
  readonly planMs: number
}

const ms = (value: number): string => `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ms`
const number = (value: number): string => value.toLocaleString('en-US')
const plural = (count: number, noun: string): string => `${number(count)} ${noun}${count === 1 ? '' : 's'}`

const FIGURES: readonly [name: string, read: (histogram: Histogram) => number, extreme: boolean][] = [
  ['mean', histogram => histogram.mean, false],
  ['p50', histogram => histogram.percentile(50), false],
  ['p90', histogram => histogram.percentile(90), false],
  ['p95', histogram => histogram.percentile(95), false],
  ['p99', histogram => histogram.percentile(99), false],
  ['p99.9', histogram => histogram.percentile(99.9), true],
  ['max', histogram => histogram.max, true],
]

/** The figures of one kind of answer that owe too much to the generator, worded. */
const distorted = (kind: string, { measured, clean }: Pair<Histogram>): string[] => {
  if (measured.count === 0) return []
  // With few samples p99 is the maximum under another name.
  return FIGURES.flatMap(([name, read, extreme]) => {
    const wide = extreme || (name === 'p99' && measured.count < 1000)
    const was = read(measured)
    const own = was - read(clean)
    const allowed = Math.max(wide ? EXTREME_MS : FIGURE_MS, (wide ? EXTREME_SHARE : FIGURE_SHARE) * was)
    return own > allowed ? [`${kind}${name} of ${ms(was)} by up to ${ms(own)}`] : []
  })
}

/** The same stop of the process freezes every worker: told once. */
const distinct = (freezes: readonly Freeze[]): Freeze[] => {
  const found: Freeze[] = []
  for (const freeze of [...freezes].sort((a, b) => a.atMs - b.atMs)) {
    const last = found.at(-1)
    if (last === undefined || freeze.atMs > last.atMs + last.lengthMs) found.push(freeze)
  }
  return found
}

/** Sentences; none when the figures are the server's. */
export const doubts = (evidence: Evidence): string[] => {
  const { plan, workers } = evidence
  const why: string[] = []
  const total = (read: (report: EngineReport) => number): number =>
    workers.reduce((sum, report) => sum + read(report), 0)

  if (workers.some(report => report.aborted)) {
    const ran = Math.max(...workers.map(report => report.elapsedMs))
    why.push(`The run was stopped after ${(ran / 1000).toFixed(1)} s of ${(evidence.planMs / 1000).toFixed(1)} s.`)
  }

  const freezes = distinct(workers.flatMap(report => report.freezes))
  if (freezes.length > 0) {
    const longest = freezes.reduce((a, b) => (b.lengthMs > a.lengthMs ? b : a))
    why.push(
      `The generator was frozen ${freezes.length === 1 ? 'once' : `${freezes.length} times`}, ` +
        `${freezes.length === 1 ? '' : 'the longest time '}for ${ms(longest.lengthMs)} at ` +
        `${(Math.max(0, longest.atMs) / 1000).toFixed(1)} s: nothing was sent and nothing was read meanwhile.`,
    )
  }

  const busiest = Math.max(...workers.map(report => (report.cpuMs - report.idleMs) / Math.max(1, report.elapsedMs)))
  const saturated = busiest >= SATURATED
  const figures = [
    ...distorted('', evidence.ok),
    ...distorted('shed ', evidence.shed),
    ...distorted('other ', evidence.other),
  ]
  if (figures.length > 0) {
    const capped = evidence.connectionWait.count
    const cause =
      capped > evidence.sendLag.count / 100 || evidence.connectionWait.max > 0.5 * evidence.sendLag.max
        ? `${plural(capped, 'request')} waited for one of ${mostConnections(plan)} connections; allow more connections`
        : saturated
          ? `it used ${Math.round(busiest * 100)} % of its core; use more threads or a lower rate`
          : freezes.length > 0
            ? 'it was frozen'
            : 'it did not get to run in time, as happens when something else uses its core'
    why.push(`The generator's own lateness changed ${figures.join(', ')}: ${cause}.`)
  } else if (saturated && plan.arrival.kind === 'closed') {
    why.push(
      `The generator used ${Math.round(busiest * 100)} % of its core, so the rate is its own limit and not the server's: use more threads.`,
    )
  }
  if (evidence.goodLost > GOOD_SHARE * (evidence.good + evidence.goodLost)) {
    why.push(`${plural(evidence.goodLost, 'answer')} missed the SLO only because the generator was late.`)
  }

  const forConnection = total(report => report.unsentForConnection)
  if (forConnection > 0) {
    why.push(
      `${plural(forConnection, 'request')} found none of ${mostConnections(plan)} connections free within ${ms(plan.timeoutMs)} and never left: allow more connections.`,
    )
  }
  const forGenerator = total(report => report.unsentForGenerator)
  if (forGenerator > 0) {
    why.push(
      `${plural(forGenerator, 'request')} never left because the generator was more than ${ms(plan.timeoutMs)} late.`,
    )
  }
  const wanted = total(report => report.standingWanted)
  const opened = total(report => report.standingOpened)
  if (opened < wanted) {
    why.push(`Only ${number(opened)} of ${plural(wanted, 'standing connection')} could be opened before the start.`)
  }
  for (const [reason, times] of Object.entries(evidence.reasons)) {
    if (reason.startsWith('other: ')) why.push(`${plural(times, 'request')} failed: ${reason.slice('other: '.length)}.`)
    else why.push(`${plural(times, 'answer')} broke HTTP: ${reason.slice('malformed: '.length)}.`)
  }
  return why
}

const mostConnections = (plan: LoadPlan): string =>
  plan.connections.kind === 'fresh' ? 'the' : number(plan.connections.max)
