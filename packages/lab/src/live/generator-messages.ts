/** The messages between the generator's process and the lab. Types only. */
import type { EngineReport } from '../load/engine-job.ts'
import type { LoadPlan } from '../load/plan.ts'
import type { SideCounts } from './side-counter.ts'

export type ToGenerator =
  /** One plan for each side; their arrivals are not used. */
  | { readonly kind: 'start'; readonly plans: readonly LoadPlan[]; readonly rate: number }
  /** The rate per second for each side from now on. */
  | { readonly kind: 'steer'; readonly rate: number }
  /** Sends no more requests, and waits for those in flight. */
  | { readonly kind: 'end' }
  | { readonly kind: 'stop' }

export interface Tick {
  readonly atMs: number
  readonly lengthMs: number
  readonly rate: number
  readonly sides: readonly SideCounts[]
}

export type FromGenerator =
  | { readonly kind: 'started' }
  | { readonly kind: 'tick'; readonly tick: Tick }
  | { readonly kind: 'done'; readonly reports: readonly EngineReport[] }
  | { readonly kind: 'failed'; readonly reason: string }
