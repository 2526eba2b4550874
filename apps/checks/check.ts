/** The type of a check, which starts the app in the arms it compares, and reports its findings. */
import type { AppDefinition, Arm } from '../runner/definition.ts'
import type { Machine, Cores, Progress } from '../runner/lab.ts'
import type { Running } from '../runner/start.ts'
import type { Capacity, LoadMaker } from '../load/load-maker.ts'

export interface Outcome {
  readonly ok: boolean
  /** Text of a cell of the table: a few words or figures. */
  readonly summary: string
  /** Failures, one sentence each. */
  readonly failures: readonly string[]
  /** Notes on the figures for the reader, one sentence each. */
  readonly notes?: readonly string[]
  /** The measurements, for the file of results. */
  readonly figures?: Readonly<Record<string, unknown>>
}

export interface Subject {
  readonly name: string
  readonly definition: AppDefinition
  readonly machine: Machine
  readonly pinning: Cores | undefined
  readonly signal: AbortSignal
  readonly progress: Progress
  /** Starts the app, calls `use` with it, and ends it in any case. */
  withApp<T>(arm: Arm, use: (running: Running) => Promise<T>, options?: { readonly collector?: string }): Promise<T>
  /** Like `withApp`, with the app on its own core and the load on another. */
  underLoad<T>(arm: Arm, use: (load: LoadMaker, running: Running) => Promise<T>): Promise<T>
  /** Capacity of the bare app, which is measured only once. */
  capacity(): Promise<Capacity>
}

export type Check = (subject: Subject) => Promise<Outcome>
