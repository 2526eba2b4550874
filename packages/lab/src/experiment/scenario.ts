/**
 * A scenario is a repeatable experiment; most were published by others (docs/add-a-scenario.md). It fills its own
 * `Measured`, so an interrupted run keeps its figures. Everything shown or judged is a pure function of it. Types only.
 */
import type { LoadOutcome, LoadProgress, Tls } from '../load/plan.ts'
import type { App } from '../launch/command.ts'
import type { PathRequest } from '../launch/wait-until-listening.ts'
import type { Form, PublishedFigure, ScenarioArm, Standing, View } from '../report/result.ts'
import type { Watch } from '../processes/watch-usage.ts'
import type { Cores } from '../launch/core-pinning.ts'
import type { LoadRequest } from '../load/load-request.ts'

export interface Expectation<Measured> {
  /** A sentence that is true or false. */
  readonly name: string
  /** Undefined if the figures it needs were not measured. */
  readonly judge: (measured: Measured) => { readonly pass: boolean; readonly measured: string } | undefined
  /** False for facts that also hold on a busy machine and in the brief form. @default true */
  readonly needsQuiet?: boolean
}

/** A figure of the published experiment, and its counterpart here. */
export interface Published<Measured> extends Omit<PublishedFigure, 'ours'> {
  /** The figure measured here, or a sentence that says why it can no longer occur; undefined if not measured. */
  readonly ours: (measured: Measured) => string | undefined
}

export interface Scenario<Measured> {
  /** kebab-case. */
  readonly name: string
  readonly title: string
  /** One line that says what the scenario shows. */
  readonly story: string
  /** Empty if nothing was published. */
  readonly published: readonly Published<Measured>[]
  readonly arms: readonly ScenarioArm[]
  readonly expects: readonly Expectation<Measured>[]
  /** npm packages that its apps import and that the lab does not include. */
  readonly needs?: readonly string[]
  readonly blank: () => Measured
  readonly run: (context: Context, measured: Measured) => Promise<void>
  /** `run` continues from the `Measured` of an earlier run that was stopped, and measures only what is missing. */
  readonly resumes?: true
  /** The part of `Measured` that stays in a stored result. @default all of it */
  readonly kept?: (measured: Measured) => unknown
  /** Must handle a `Measured` that is only partly filled. */
  readonly view: (measured: Measured) => View
}

/** Hides the type of the figures, which only the scenario itself needs. */
export const scenario = <Measured>(made: Scenario<Measured>): Scenario<unknown> => made as unknown as Scenario<unknown>

export interface AppSpec {
  /** Used in messages. */
  readonly name: string
  /** A file of packages/lab/apps, started with this Node; or a whole command line. */
  readonly run: string | readonly string[]
  /** `server` for the measured process, `dependency` for its dependencies. */
  readonly core: keyof Cores
  /** Added to the lab's own environment; PORT is a free port by default. */
  readonly env?: Readonly<Record<string, string>>
  /** Node options such as `--import file`, put into NODE_OPTIONS. */
  readonly nodeOptions?: string | undefined
  /** True if the app listens on PORT and its other ports do not count. @default true for a file of packages/lab/apps */
  readonly atPort?: boolean
  /** Its URL; the lab then does not search for its port. */
  readonly url?: URL | undefined
  /** How to trust its certificate, if it uses TLS. */
  readonly tls?: Tls | undefined
  /** If it does not listen on PORT, the lab uses the port that answers this with a status below 400. @default GET / */
  readonly request?: PathRequest
  /** @default 60 000 */
  readonly startTimeoutMs?: number
}

export interface RunningApp extends App {
  /** Such as `http://127.0.0.1:3000`. */
  readonly origin: string
  /** Its Node version, if known and possibly different from the lab's. */
  readonly node?: string | undefined
  /** Samples its memory and CPU from outside, from now on. */
  watch(): Watch
  /** GETs `path` and parses JSON. Throws for any status other than 2xx, and after `timeoutMs` (default 30 s). */
  ask<T>(path: string, timeoutMs?: number): Promise<T>
  /** Throws, with its last output, if it has ended by itself; `when` says during which step. */
  check(when?: string): void
}

export interface Context {
  readonly form: Form
  /** Undefined if nothing is pinned: one core, or no taskset. */
  readonly cores: Cores | undefined
  /** The value for the current form; the brief form uses the quick value unless it has its own. */
  pick<T>(values: { readonly brief?: T; readonly quick: T; readonly full: T }): T
  /** Aborted by Ctrl-C. Every wait must observe it. */
  readonly signal: AbortSignal
  /** Shows the current activity on a terminal. */
  status(text: string): void
  /** Prints a permanent line to stderr; `tone` colours its signs and bars on a terminal. */
  line(text: string, tone?: Standing['tone']): void
  /** Records a sentence that makes the figures doubtful: the run is then not certified. */
  doubt(sentence: string): void
  /** Why figures of speed cannot be judged so far, and what to do; undefined on a quiet machine. */
  disturbance(): string | undefined
  /** Starts an app and waits until it is reachable. Apps that still run are ended after the run. */
  start(spec: AppSpec): Promise<RunningApp>
  /** Sends load, with progress on stderr; doubts about it become doubts about the run. Throws when aborted. */
  load(label: string, request: LoadRequest, onProgress?: (progress: LoadProgress) => void): Promise<LoadOutcome>
  /** Stores what was measured so far for a later run, if the scenario can be resumed and its result is stored. */
  checkpoint(): void
  /** Registers further cleanup, which runs after the run in every case, in reverse order. */
  cleanUp(undo: () => Promise<void> | void): void
  sleep(ms: number): Promise<void>
  /** Calls `read` every `everyMs`. Failed readings are left out; if all fail, stop() throws the reason. */
  sample<T>(everyMs: number, read: () => Promise<T> | T): Sampling<T>
}

export interface Sampling<T> {
  stop(): Promise<readonly { readonly atMs: number; readonly value: T }[]>
}
