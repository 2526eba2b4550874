/** The measurements of the timeouts scenario. Plain data. */
import type { LoadFigures } from '../report/load-figures.ts'
import type { NumberStats } from '../report/number-stats.ts'
import type { ScenarioArm } from '../report/result.ts'

export const arms: readonly ScenarioArm[] = [
  { name: 'bare', kind: 'bare', what: 'http.get(url): as long as it takes' },
  { name: 'naive timeout', kind: 'also', what: 'http.get(url, { timeout }), destroyed when it fires' },
  {
    name: 'meltproof',
    kind: 'protected',
    what: 'http.get(url) as in bare; install({ totalMs }) of meltproof/outbound',
  },
]

export interface Run {
  readonly arm: string
  readonly label: string
  /** The report as `meltlab attack` would print it. */
  readonly printout: string
  /** The seconds used for averages. */
  readonly window: { readonly from: number; readonly to: number }
  readonly figures: LoadFigures
  /** Calls that wait for backend B. */
  readonly pending: readonly { readonly atMs: number; readonly calls: number }[]
  readonly pendingMean: number | null
  /** Memory of frontend A, read from outside, bytes. */
  readonly rss: NumberStats | null
  readonly rssLine: readonly { readonly atMs: number; readonly rssBytes: number }[]
  /** All CPU time of frontend A, also for failures, per good answer, ms. A busy machine changes it little. */
  readonly cpuPerOkMs: number | null
  /** Heap of frontend A, read by a preload, bytes. */
  readonly heap: NumberStats | null
}

export interface ClosedRun extends Run {
  readonly users: number
  readonly faulty: boolean
  readonly okPerSecond: number
  readonly takenPerSecond: number
  /** Share (0..1) of the sent requests that were answered with 2xx or 3xx. */
  readonly availability: number
}

export interface OpenRun extends Run {
  readonly rate: number
}

export interface TimeoutsMeasured {
  limitMs: number
  faultMs: number
  /** The larger number of users. */
  users: number
  rate: number
  /** Duration of a good answer of the backend, ms; one answer in `faultEvery` is faulty. */
  readonly answerMs: number
  readonly faultEvery: number
  readonly closed: ClosedRun[]
  readonly open: OpenRun[]
}

/** A call may end this much later than its time limit, ms. */
export const lateMs = 100

export const healthyRun = ({ closed, users }: TimeoutsMeasured): ClosedRun | undefined =>
  closed.find(run => !run.faulty && run.users === users)
export const faultyRun = ({ closed }: TimeoutsMeasured, arm: string): ClosedRun | undefined =>
  closed.find(run => run.faulty && run.arm === arm)
export const openRun = ({ open }: TimeoutsMeasured, arm: string): OpenRun | undefined =>
  open.find(run => run.arm === arm)
