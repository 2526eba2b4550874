/**
 * Decides whether a run's figures describe the server. Pure.
 *
 * The generator's lateness matters only if it shows in a figure: 5 ms do not change a p50 of 3 s, but ruin one of 2 ms.
 * Every latency is recorded as measured, and without the generator's own delay (sending late, waiting for a free
 * connection under a cap, reading late). The server's own figure lies between the two. If they are too far apart, the
 * run is not certified.
 */
import { plural } from '../words.ts'
import type { EngineReport } from './engine-job.ts'
import type { Histogram } from './histogram.ts'
import type { Freeze } from './lateness.ts'
import {
  type ByKind,
  type Certificate,
  DOUBT_CODES,
  type DoubtCode,
  type FigureName,
  KINDS,
  type LoadPlan,
} from './plan.ts'
import { planMs } from './schedule.ts'
import type { Pair } from './tally.ts'

/** The allowance: up to this share of a figure may be the generator's own delay. */
const SHARE = 0.1
/** Minimum allowance, ms, for the mean and median, and for higher percentiles: the generator's accuracy. */
const MIDDLE_MS = 0.1
const TAIL_MS = 0.3
/** Minimum allowance for extremes, ms. One slice of Linux's scheduler (3 ms on two cores) changes their few samples. */
const EXTREME_MS = 3
/** Maximum share of goodput lost to the generator's lateness. */
const LOST_SHARE = 0.01
/** If the generator uses this share of a core, the generator limits the rate of a closed loop, not the server. */
const SATURATED = 0.9
/** A tail percentile with fewer samples beyond it counts as an extreme. */
const ENOUGH_BEYOND = 10

export interface Doubt {
  readonly code: DoubtCode
  readonly sentence: string
}

export interface Evidence {
  readonly plan: LoadPlan
  readonly workers: readonly EngineReport[]
  readonly latencies: ByKind<Pair<Histogram>>
  readonly sendLag: Histogram
  readonly connectionWait: Histogram
  readonly good: number
  readonly goodLost: number
  readonly reasons: Readonly<Record<string, number>>
  readonly journeysNotStarted?: number
}

const ms = (value: number): string => `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ms`
const number = (value: number): string => value.toLocaleString('en-US')

export interface Figure {
  readonly name: FigureName
  readonly title: string
  readonly read: (histogram: Histogram) => number
  readonly floorMs: number
  /** Share of samples beyond a tail percentile; Infinity for mean and median, which are never extremes. */
  readonly beyond: number
}

const MIDDLE = { floorMs: MIDDLE_MS, beyond: Number.POSITIVE_INFINITY }

export const FIGURES: readonly Figure[] = [
  { name: 'mean', title: 'mean', read: histogram => histogram.mean, ...MIDDLE },
  { name: 'p50', title: 'p50', read: histogram => histogram.percentile(50), ...MIDDLE },
  { name: 'p90', title: 'p90', read: histogram => histogram.percentile(90), floorMs: TAIL_MS, beyond: 0.1 },
  { name: 'p95', title: 'p95', read: histogram => histogram.percentile(95), floorMs: TAIL_MS, beyond: 0.05 },
  { name: 'p99', title: 'p99', read: histogram => histogram.percentile(99), floorMs: TAIL_MS, beyond: 0.01 },
  { name: 'p999', title: 'p99.9', read: histogram => histogram.percentile(99.9), floorMs: EXTREME_MS, beyond: 0.001 },
  { name: 'max', title: 'max', read: histogram => histogram.max, floorMs: EXTREME_MS, beyond: 0 },
]

/** The figures by which a table or a page of an app is certified. */
export const MEDIAN_AND_P99: readonly Figure[] = FIGURES.filter(({ name }) => name === 'p50' || name === 'p99')

const TITLES: ByKind<string> = { ok: '', shed: 'shed ', other: 'other ', failed: 'failed ' }

export const certificateOf = (found: readonly Doubt[], latencies: ByKind<Pair<Histogram>>): Certificate => {
  const doubts = DOUBT_CODES.filter(code => found.some(doubt => doubt.code === code))
  const intervals: Certificate['intervals'] = Object.fromEntries(
    KINDS.filter(kind => latencies[kind].measured.count > 0).map(kind => {
      const { clean, measured } = latencies[kind]
      return [kind, Object.fromEntries(FIGURES.map(({ name, read }) => [name, [read(clean), read(measured)]]))]
    }),
  )
  return { code: doubts[0] ?? 'certified', doubts, intervals }
}

/** The part of a figure between these bounds that the generator may have caused, ms; 0 if the figure is certain. */
export const doubtedMs = (figure: Figure, [least, most]: readonly [number, number], count: number): number => {
  const floorMs = count * figure.beyond < ENOUGH_BEYOND ? EXTREME_MS : figure.floorMs
  return most - least > Math.max(floorMs, SHARE * most) ? most - least : 0
}

const distorted = (latencies: ByKind<Pair<Histogram>>): string[] =>
  KINDS.flatMap(kind => {
    const { clean, measured } = latencies[kind]
    return FIGURES.flatMap(figure => {
      const value = figure.read(measured)
      const own = doubtedMs(figure, [figure.read(clean), value], measured.count)
      if (own === 0) return []
      return [`${TITLES[kind]}${figure.title} of ${ms(value)} by up to ${ms(own)}`]
    })
  })

/** One stop of the process freezes every worker, so it is reported once. */
const distinct = (freezes: readonly Freeze[]): Freeze[] => {
  const found: Freeze[] = []
  for (const freeze of [...freezes].sort((a, b) => a.atMs - b.atMs)) {
    const last = found.at(-1)
    if (last === undefined || freeze.atMs > last.atMs + last.lengthMs) found.push(freeze)
  }
  return found
}

/** The most serious comes first, because some reports show only one. */
export const doubts = (evidence: Evidence): Doubt[] => {
  const { plan, workers, latencies } = evidence
  const found: Doubt[] = []
  const doubt = (code: DoubtCode, sentence: string): void => void found.push({ code, sentence })
  const total = (read: (report: EngineReport) => number): number =>
    workers.reduce((sum, report) => sum + read(report), 0)

  if (workers.some(report => report.aborted)) {
    const ran = Math.max(...workers.map(report => report.elapsedMs))
    doubt('stopped', `The run was stopped after ${(ran / 1000).toFixed(1)} s of ${(planMs(plan) / 1000).toFixed(1)} s.`)
  }

  const freezes = distinct(workers.flatMap(report => report.freezes))
  if (freezes.length > 0) {
    const longest = freezes.reduce((a, b) => (b.lengthMs > a.lengthMs ? b : a))
    doubt(
      'frozen',
      `The generator was frozen ${freezes.length === 1 ? 'once' : `${freezes.length} times`}, ` +
        `${freezes.length === 1 ? '' : 'the longest time '}for ${ms(longest.lengthMs)} at ` +
        `${(Math.max(0, longest.atMs) / 1000).toFixed(1)} s: nothing was sent and nothing was read meanwhile.`,
    )
  }

  const busiest = Math.max(...workers.map(report => (report.cpuMs - report.idleMs) / Math.max(1, report.elapsedMs)))
  const saturated = busiest >= SATURATED
  const figures = distorted(latencies)
  if (figures.length > 0) {
    const waited = evidence.connectionWait.count
    const capped = waited > evidence.sendLag.count / 100 || evidence.connectionWait.max > 0.5 * evidence.sendLag.max
    const cause = capped
      ? `${plural(waited, 'request')} waited for one of ${mostConnections(plan)}; allow more connections`
      : saturated
        ? `it used ${Math.round(busiest * 100)} % of its core; use more threads or a lower rate`
        : freezes.length > 0
          ? 'it was frozen'
          : 'it did not run in time, as happens when another process uses its core'
    doubt(capped ? 'connections' : 'late', `The generator's own lateness changed ${figures.join(', ')}: ${cause}.`)
  }
  if (saturated && plan.arrival.kind === 'closed') {
    doubt(
      'saturated',
      `The generator used ${Math.round(busiest * 100)} % of its core, so it limited the rate, and not the server: use more threads.`,
    )
  }
  if (evidence.goodLost > LOST_SHARE * (evidence.good + evidence.goodLost)) {
    doubt('late', `${plural(evidence.goodLost, 'answer')} missed the SLO only because the generator was late.`)
  }

  const forConnection = total(report => report.unsentForConnection)
  if (forConnection > 0) {
    doubt(
      'connections',
      `${plural(forConnection, 'request')} found none of ${mostConnections(plan)} free within ${ms(plan.timeoutMs)} and never went out: allow more connections.`,
    )
  }
  const { journeysNotStarted = 0 } = evidence
  if (journeysNotStarted > 0) {
    doubt(
      'connections',
      `${plural(journeysNotStarted, 'journey')} never started because ${number(plan.journey!.atOnce)} were in progress: raise "atOnce" in the file.`,
    )
  }
  const forGenerator = total(report => report.unsentForGenerator)
  if (forGenerator > 0) {
    doubt(
      'late',
      `${plural(forGenerator, 'request')} never went out because the generator was more than ${ms(plan.timeoutMs)} late.`,
    )
  }
  const wanted = plan.connections.kind === 'fresh' ? 0 : plan.connections.count
  const opened = total(report => report.standingOpened)
  if (opened < wanted) {
    doubt(
      'standing',
      `Only ${number(opened)} of ${plural(wanted, 'standing connection')} could be opened before the start.`,
    )
  }
  for (const [reason, times] of Object.entries(evidence.reasons)) {
    if (reason.startsWith('other: ')) {
      doubt('failures', `${plural(times, 'request')} failed: ${reason.slice('other: '.length)}.`)
    } else {
      doubt('malformed', `${plural(times, 'answer')} broke HTTP: ${reason.slice('malformed: '.length)}.`)
    }
  }
  return DOUBT_CODES.flatMap(code => found.filter(each => each.code === code))
}

const mostConnections = ({ connections, http2 }: LoadPlan): string => {
  if (connections.kind === 'fresh') return 'the connections'
  const { max } = connections
  return http2 === undefined
    ? `${number(max)} connections`
    : `${number(max * http2.streams)} streams on ${plural(max, 'connection')}`
}
