/**
 * The storm beside the service, for whoever opens `/` at this computer: it begins when its page is asked for, and ends soon
 * after nothing of it is read any more.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../storm/main.ts', import.meta.url))

export class Storm {
  readonly #port: number
  readonly #idleMs: number
  #running: Promise<number> | undefined
  #child: ChildProcess | undefined
  #readers = 0
  #idle: NodeJS.Timeout | undefined

  /** `port`: the one of `npm run storm`, so that there are never two, which would measure each other. 0: any. `idleMs` is long enough for a reload. */
  constructor(port: number, idleMs = 15_000) {
    this.#port = port
    this.#idleMs = idleMs
  }

  /** The port of its page's server. Each call is followed by one of `release()`. */
  hold(): Promise<number> {
    clearTimeout(this.#idle)
    this.#readers++
    this.#running ??= this.#start()
    return this.#running
  }

  release(): void {
    if (--this.#readers > 0) return
    this.#idle = setTimeout(() => void this.end(), this.#idleMs)
    this.#idle.unref()
  }

  /** Resolves when nothing of it is left. */
  async end(): Promise<void> {
    clearTimeout(this.#idle)
    const child = this.#child
    if (child === undefined) return
    // Who asks from now on gets another one.
    this.#running = undefined
    child.kill('SIGTERM')
    await once(child, 'exit')
  }

  async #start(): Promise<number> {
    // One that is ending still has the port, and the database.
    if (this.#child !== undefined) await once(this.#child, 'exit')
    const child = fork(MAIN, {
      env: { ...process.env, PORT: String(this.#port) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child = child
    return new Promise((resolve, reject) => {
      child.once('message', port => resolve(Number(port)))
      child.once('exit', () => {
        this.#child = undefined
        if (!child.killed) this.#running = undefined
        reject(new Error('The storm has ended'))
      })
    })
  }
}
