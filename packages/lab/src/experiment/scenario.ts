/**
 * What a scenario is: a published experiment, made repeatable. Types only; how to add one is in docs/add-a-scenario.md.
 *
 * A scenario fills its own `Measured` as it goes, so that a run that is cut short keeps what it has; everything that is
 * shown or judged is a pure function of that.
 */
import type { LoadOutcome, LoadProgress, Tls } from '../load/plan.ts'
import type { App } from '../launch/command.ts'
import type { Form, PublishedFigure, ScenarioArm, Standing, View } from '../report/result.ts'
import type { Watch } from '../processes/watch-usage.ts'
import type { Cores } from '../launch/core-pinning.ts'
import type { LoadRequest } from '../load/load-request.ts'

export interface Judgement {
  readonly pass: boolean
  readonly measured: string
}

export interface Expectation<Measured> {
  /** A sentence that is true or false. */
  readonly name: string
  /** Undefined when the figures it needs were not measured. */
  readonly judge: (measured: Measured) => Judgement | undefined
  /**
   * False for what holds on a busy machine and in the brief form too, such as counts that add up.
   * @default true
   */
  readonly needsQuiet?: boolean
}

/** A figure of the published experiment, and what became of it here. */
export interface Published<Measured> extends Omit<PublishedFigure, 'ours'> {
  /** The figure measured here, or the sentence that says why it cannot appear any more; undefined when not measured. */
  readonly ours: (measured: Measured) => string | undefined
}

export interface Scenario<Measured> {
  /** kebab-case. */
  readonly name: string
  readonly title: string
  /** What it shows, in one line. */
  readonly story: string
  /** Empty where nothing was published. */
  readonly published: readonly Published<Measured>[]
  readonly arms: readonly ScenarioArm[]
  readonly expects: readonly Expectation<Measured>[]
  /** Packages of npm that its apps import and that the lab does not bring. */
  readonly needs?: readonly string[]
  readonly blank: () => Measured
  readonly run: (context: Context, measured: Measured) => Promise<void>
  /** `run` goes on from a `Measured` of an earlier run that was stopped, and leaves out what is in it. */
  readonly resumes?: true
  /** What of `Measured` stays in a result that is kept for reports; all of it unless said. */
  readonly kept?: (measured: Measured) => unknown
  /** Must make sense of a `Measured` that is only partly filled. */
  readonly view: (measured: Measured) => View
}

/** Forgets the type of the figures, which only the scenario itself needs to know. */
export const scenario = <Measured>(made: Scenario<Measured>): Scenario<unknown> => made as unknown as Scenario<unknown>

/** Which core a process runs on: the server's is for what is measured, the dependency's for what it waits for. */
export type Core = 'server' | 'dependency' | 'lab'

export interface AppSpec {
  /** For messages. */
  readonly name: string
  /** A file of packages/lab/apps, started with this Node; or a whole command line. */
  readonly run: string | readonly string[]
  readonly core: Core
  /** Added to the lab's own; PORT is a free port unless given. */
  readonly env?: Readonly<Record<string, string>>
  /** Node options such as `--import file`, put into NODE_OPTIONS. */
  readonly nodeOptions?: string | undefined
  /**
   * It listens on PORT, whatever ports it opens before.
   * @default true for a file of packages/lab/apps
   */
  readonly atPort?: boolean
  /** Where it listens, for one whose port is not to be looked for. */
  readonly url?: URL | undefined
  /** It speaks TLS, and this is how it is trusted. */
  readonly tls?: Tls | undefined
  /** @default 15 000 */
  readonly startTimeoutMs?: number
}

export interface RunningApp extends App {
  /** Such as `http://127.0.0.1:3000`. */
  readonly origin: string
  /** Its Node, where that is known and need not be the lab's. */
  readonly node?: string | undefined
  /** Memory and CPU from outside, from now on. */
  watch(): Watch
  /** GET, the answer parsed as JSON; throws for any status but 2xx, and after 30 s unless `timeoutMs` says otherwise. */
  ask<T>(path: string, timeoutMs?: number): Promise<T>
  /** Throws, with its last words, when it has ended by itself; `when` says in the middle of what. */
  check(when?: string): void
}

export interface Context {
  readonly form: Form
  /** Undefined when nothing is pinned here: one core, or no taskset. */
  readonly cores: Cores | undefined
  /** The value for this form; the brief form takes the quick one's unless it has its own. */
  pick<T>(values: { readonly brief?: T; readonly quick: T; readonly full: T }): T
  /** Aborted by Ctrl-C. Whatever waits must take it. */
  readonly signal: AbortSignal
  /** What happens right now, for a terminal. */
  status(text: string): void
  /** Something worth keeping on stderr; `tone` colours its signs and bars on a terminal. */
  line(text: string, tone?: Standing['tone']): void
  /** A sentence that makes the figures doubtful: the run is then not certified. */
  doubt(sentence: string): void
  /** Starts an app and waits until it can be reached. Whatever is left running is ended after the run. */
  start(spec: AppSpec): Promise<RunningApp>
  /** Load, with progress on stderr; what makes it doubtful becomes a doubt of the run. Throws when aborted. */
  load(label: string, request: LoadRequest, onProgress?: (progress: LoadProgress) => void): Promise<LoadOutcome>
  /** Keeps what was measured so far for a later run, where the scenario resumes and somebody keeps its result. */
  checkpoint(): void
  /** For whatever else must be undone after the run, however it ends. The last one registered goes first. */
  cleanUp(undo: () => Promise<void> | void): void
  sleep(ms: number): Promise<void>
  /**
   * Calls `read` every `everyMs` until stopped; hands back what it returned, with the time since the start. A reading
   * that fails is left out; when all of them do, stop() throws why.
   */
  sample<T>(everyMs: number, read: () => Promise<T> | T): Sampling<T>
}

export interface Sampling<T> {
  stop(): Promise<readonly { readonly atMs: number; readonly value: T }[]>
}
