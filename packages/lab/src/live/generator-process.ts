/** The lab's end of the generator's process. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { EngineReport } from '../load/engine-job.ts'
import type { LoadPlan } from '../load/plan.ts'
import type { FromGenerator, Tick, ToGenerator } from './generator-messages.ts'

/** The file next to this one, as source or as built. */
const file = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './generator.ts' : './generator.js', import.meta.url),
)

export class GeneratorProcess {
  /** Rejected when the generator ends by itself. */
  readonly reports: Promise<readonly EngineReport[]>
  readonly #child: ChildProcess
  readonly #started: Promise<void>

  constructor(onTick: (tick: Tick) => void) {
    // A group of its own: the Ctrl-C of a terminal is for the lab alone.
    this.#child = fork(file, { serialization: 'advanced', detached: true, env: { ...process.env, NODE_OPTIONS: '' } })
    const started = Promise.withResolvers<void>()
    const reports = Promise.withResolvers<readonly EngineReport[]>()
    const failed = (error: Error): void => {
      started.reject(error)
      reports.reject(error)
    }
    // Either may fail while nobody waits for it.
    started.promise.catch(() => {})
    reports.promise.catch(() => {})
    this.#started = started.promise
    this.reports = reports.promise
    this.#child
      .on('message', (message: FromGenerator) => {
        if (message.kind === 'started') started.resolve()
        else if (message.kind === 'tick') onTick(message.tick)
        else if (message.kind === 'done') reports.resolve(message.reports)
        else failed(new Error(`the generator failed: ${message.reason}`))
      })
      .on('error', failed)
      .on('exit', (code, signal) => failed(new Error(`the generator ended unexpectedly (${signal ?? code})`)))
  }

  /** Resolves when the connections stand and the load begins. */
  start(plans: readonly LoadPlan[], rate: number): Promise<void> {
    this.#tell({ kind: 'start', plans, rate })
    return this.#started
  }

  steer(rate: number): void {
    this.#tell({ kind: 'steer', rate })
  }

  /** Sends no more; `reports` come when everything is answered or has timed out. */
  end(): void {
    this.#tell({ kind: 'end' })
  }

  /** `reports` come at once. */
  stop(): void {
    this.#tell({ kind: 'stop' })
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = new Promise(resolve => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
  }

  #tell(message: ToGenerator): void {
    // One that has ended is told of by `reports`.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}
