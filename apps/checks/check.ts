/** What a check is: it starts the app in the arms it compares, and says what it found. */
import type { AppDefinition, Arm } from '../runner/definition.ts'
import type { Machine, Cores, Progress } from '../runner/lab.ts'
import type { Running } from '../runner/start.ts'
import type { Capacity, LoadMaker } from '../load/load-maker.ts'

export interface Outcome {
  readonly ok: boolean
  /** For a cell of the table: a few words or figures. */
  readonly summary: string
  /** What failed, a sentence each. */
  readonly failures: readonly string[]
  /** What a reader should know about the figures, a sentence each. */
  readonly notes?: readonly string[]
  /** What was measured, for the file of results. */
  readonly figures?: Readonly<Record<string, unknown>>
}

export interface Subject {
  readonly name: string
  readonly definition: AppDefinition
  readonly machine: Machine
  readonly pinning: Cores | undefined
  readonly signal: AbortSignal
  readonly progress: Progress
  /** Starts it, hands it to `use`, and ends it whatever happens. */
  withApp<T>(arm: Arm, use: (running: Running) => Promise<T>, options?: { readonly collector?: string }): Promise<T>
  /** As `withApp`, with the app on a core of its own and load from another. */
  underLoad<T>(arm: Arm, use: (load: LoadMaker, running: Running) => Promise<T>): Promise<T>
  /** Of the bare app; measured once. */
  capacity(): Promise<Capacity>
}

export type Check = (subject: Subject) => Promise<Outcome>
