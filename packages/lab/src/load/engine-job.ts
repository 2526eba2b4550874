/** The input and output of one worker. Types and plain data only, because they cross threads. */
import type { JourneyData } from './journeys.ts'
import type { Freeze } from './lateness.ts'
import type { Counts, LoadPlan, LoadProgress } from './plan.ts'
import type { RequestText } from './request-text.ts'
import type { TallyData } from './tally.ts'
import type { Peer } from './target.ts'

export interface EngineJob {
  readonly plan: LoadPlan
  /** The distinct servers. Undefined if a name has no address: all its requests fail as `unresolved`. */
  readonly peers: readonly (Peer | undefined)[]
  /** For each target: what is sent, and the index of its peer. */
  readonly requests: readonly { readonly text: RequestText; readonly peer: number }[]
  readonly worker: number
  readonly workers: number
  /** One 32-bit word: 0 while running, 1 to stop at once. */
  readonly control: Int32Array
}

export type EngineProgress = Pick<LoadProgress, keyof Counts | 'inflight'>

export interface EngineReport {
  readonly tally: TallyData
  readonly elapsedMs: number
  readonly aborted: boolean
  /** CPU time of this thread during the run, and the part spent spinning while idle. */
  readonly cpuMs: number
  readonly idleMs: number
  readonly freezes: readonly Freeze[]
  /** Requests given up before they were sent, by what they waited for. */
  readonly unsentForConnection: number
  readonly unsentForGenerator: number
  readonly standingOpened: number
  /** Numbers of the requests answered with 2xx; empty unless the plan asks for them. */
  readonly acknowledged: Uint32Array
  readonly journeys?: JourneyData | undefined
}
