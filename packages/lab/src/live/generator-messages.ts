/** What the generator's process and the lab tell each other. Types only. */
import type { EngineReport } from '../load/engine-job.ts'
import type { LoadPlan } from '../load/plan.ts'
import type { SideCounts } from './side-counter.ts'

export type ToGenerator =
  /** One plan for each side; their arrivals are not used. */
  | { readonly kind: 'start'; readonly plans: readonly LoadPlan[]; readonly rate: number }
  /** Requests a second to each side from now on. */
  | { readonly kind: 'steer'; readonly rate: number }
  /** Send no more, and wait for what is under way. */
  | { readonly kind: 'end' }
  /** At once. */
  | { readonly kind: 'stop' }

export interface Tick {
  /** Milliseconds since the start. */
  readonly atMs: number
  /** Since the tick before. */
  readonly lengthMs: number
  /** That was offered when it ended. */
  readonly rate: number
  readonly sides: readonly SideCounts[]
}

export type FromGenerator =
  | { readonly kind: 'started' }
  | { readonly kind: 'tick'; readonly tick: Tick }
  | { readonly kind: 'done'; readonly reports: readonly EngineReport[] }
  | { readonly kind: 'failed'; readonly reason: string }
