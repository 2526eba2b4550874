/**
 * Runs the storm beside the service, for browsers on this computer that open `/`. It starts when its page is requested,
 * and ends soon after the last of its connections has closed.
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

  /**
   * `port` is that of `npm run storm`, so that two storms never run at the same time and disturb each other's figures.
   * With 0, any free port is taken. The default of `idleMs` is long enough for a reload of the page.
   */
  constructor(port: number, idleMs = 15_000) {
    this.#port = port
    this.#idleMs = idleMs
  }

  /**
   * Starts the storm if needed, and resolves with the port of its page. For each call, `release()` must be called once.
   */
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

  /** Ends the storm; resolves when its process has exited. */
  async end(): Promise<void> {
    clearTimeout(this.#idle)
    const child = this.#child
    if (child === undefined) return
    // Later requests start a new storm.
    this.#running = undefined
    child.kill('SIGTERM')
    await once(child, 'exit')
  }

  async #start(): Promise<number> {
    // A storm that is ending still holds the port and the database.
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
