/** Starts and controls the generator's process from the lab, and defines the messages between the two. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
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

/** The sources contain generator.ts, the build generator.js. */
const file = path.join(import.meta.dirname, `generator${path.extname(import.meta.filename)}`)

export class GeneratorProcess {
  /** Rejects if the generator ends by itself, also before it has started. */
  readonly reports: Promise<readonly EngineReport[]>
  readonly #child: ChildProcess
  readonly #started: Promise<void>

  constructor(onTick: (tick: Tick) => void) {
    // The generator has its own process group, because Ctrl-C in the terminal is for the lab only.
    this.#child = fork(file, { serialization: 'advanced', detached: true, env: { ...process.env, NODE_OPTIONS: '' } })
    const started = Promise.withResolvers<void>()
    const reports = Promise.withResolvers<readonly EngineReport[]>()
    this.#started = started.promise
    this.reports = reports.promise
    // It may reject before it is awaited.
    this.reports.catch(() => {})
    this.#child
      .on('message', (message: FromGenerator) => {
        if (message.kind === 'started') started.resolve()
        else if (message.kind === 'tick') onTick(message.tick)
        else if (message.kind === 'done') reports.resolve(message.reports)
        else reports.reject(new Error(`the generator failed: ${message.reason}`))
      })
      .on('error', reports.reject)
      .on('exit', (code, signal) => reports.reject(new Error(`the generator ended unexpectedly (${signal ?? code})`)))
  }

  /** Resolves when the connections are open and the load begins. */
  start(plans: readonly LoadPlan[], rate: number): Promise<void> {
    this.tell({ kind: 'start', plans, rate })
    return this.#started
  }

  tell(message: ToGenerator): void {
    // After the end of the process, `reports` rejects, and nothing is sent.
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}
