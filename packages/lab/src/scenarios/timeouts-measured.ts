/** What the timeouts scenario measures. Plain data. */
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
  /** As `meltlab attack` would print it. */
  readonly printout: string
  /** The seconds that averages are taken from. */
  readonly window: { readonly from: number; readonly to: number }
  readonly figures: LoadFigures
  /** Calls that wait on backend B. */
  readonly pending: readonly { readonly atMs: number; readonly calls: number }[]
  readonly pendingMean: number | null
  /** Of frontend A, from outside; bytes. */
  readonly rss: NumberStats | null
  readonly rssLine: readonly { readonly atMs: number; readonly rssBytes: number }[]
  /** CPU of frontend A over its good answers, ms, failures and all: what a busy machine does not change much. */
  readonly cpuPerOkMs: number | null
  /** Of frontend A, from a preload; bytes. */
  readonly heap: NumberStats | null
}

export interface ClosedRun extends Run {
  readonly users: number
  readonly faulty: boolean
  readonly okPerSecond: number
  readonly takenPerSecond: number
  /** Share (0..1) of all transactions that were answered 2xx. */
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
  /** How long a good answer of the backend takes, ms; one answer in `faultEvery` is faulty. */
  readonly answerMs: number
  readonly faultEvery: number
  readonly closed: ClosedRun[]
  readonly open: OpenRun[]
}

/** How late a limit may be noticed. */
export const lateMs = 100

export const healthyRun = ({ closed, users }: TimeoutsMeasured): ClosedRun | undefined =>
  closed.find(run => !run.faulty && run.users === users)
export const faultyRun = ({ closed }: TimeoutsMeasured, arm: string): ClosedRun | undefined =>
  closed.find(run => run.faulty && run.arm === arm)
export const openRun = ({ open }: TimeoutsMeasured, arm: string): OpenRun | undefined =>
  open.find(run => run.arm === arm)
