/** One shore of the storm: the service in one process, and its phones in another. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pin } from './cores.ts'
import { type Counts, type Figures, figuresOf, recent } from './figures.ts'
import type { Told } from './load.ts'
import type { SideSettings } from './settings.ts'
import { type SlowLog, slowLog } from './slow-log.ts'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
/** Maximum number of counts that are kept; the figures need only those of the last two seconds. */
const MOST_COUNTS = 20
const START_MS = 20_000
/** A service that has exited by itself is started again after this time, ms. */
const CRASHED_MS = 1000

export interface SideOptions {
  readonly port: number
  readonly databaseUrl: string
  /** Folder in which the pipe of the log is created. */
  readonly folder: string
  /** The core of the service; undefined if nothing is pinned. */
  readonly core: number | undefined
}

export class Side {
  readonly #options: SideOptions
  #settings: SideSettings
  #service: ChildProcess | undefined
  #log: SlowLog | undefined
  #load: ChildProcess | undefined
  #counts: Counts[] = []
  #ages = Buffer.alloc(0)
  #isUp = false
  #ended = false
  #restarts: Promise<void> = Promise.resolve()

  constructor(options: SideOptions, settings: SideSettings) {
    this.#options = options
    this.#settings = settings
  }

  /** Starts the service, and the phones once it answers, or after {@link START_MS} at the latest. */
  async start(): Promise<void> {
    await this.#startService()
    if (this.#ended) return
    const load = fork(file('load.ts'), [String(this.#options.port), file('../public/shoreline.json')], {
      serialization: 'advanced',
      detached: true,
    })
    load.on('message', (told: Told) => {
      this.#counts.push(told.counts)
      if (this.#counts.length > MOST_COUNTS) this.#counts.shift()
      this.#ages = Buffer.from(told.ages)
    })
    this.#load = load
  }

  setPhones(count: number): void {
    if (this.#load?.connected) this.#load.send(count)
  }

  /** Restarts the service if its settings have changed, like a deployment. */
  set(settings: SideSettings): void {
    const { protect, log } = this.#settings
    if (protect === settings.protect && log === settings.log) return
    this.#settings = settings
    this.#restartNext()
  }

  get figures(): Figures & { readonly isUp: boolean } {
    return { ...figuresOf(recent(this.#counts)), isUp: this.#isUp }
  }

  /** One byte per phone, in base64 (`Told.ages`). */
  get ages(): string {
    return this.#ages.toString('base64')
  }

  async end(): Promise<void> {
    this.#ended = true
    await kill(this.#load)
    await this.#restarts
    await this.#endService()
  }

  /** Restarts run one after the other, however often the settings change. */
  #restartNext(afterMs = 0): void {
    const act = () => sleep(afterMs).then(() => this.#restart())
    this.#restarts = this.#restarts.then(act).catch(error => console.error(String(error)))
  }

  async #restart(): Promise<void> {
    if (this.#ended) return
    await this.#endService()
    await this.#startService()
  }

  async #startService(): Promise<void> {
    const { port, databaseUrl, folder, core } = this.#options
    const { protect, log } = this.#settings
    this.#log = log ? slowLog(folder) : undefined
    const service = spawn(process.execPath, ['--import', file('service-preload.ts'), file('../src/main.ts')], {
      env: {
        ...process.env,
        HOST: '127.0.0.1',
        PORT: String(port),
        DATABASE_URL: databaseUrl,
        PROTECT: protect ? 'on' : 'off',
        LOG: log ? 'console' : 'off',
        TLS_CERT: undefined,
        TLS_KEY: undefined,
      },
      stdio: ['ignore', this.#log?.write ?? 'ignore', 'inherit', 'ipc'],
      detached: true,
    })
    if (this.#log !== undefined) closeSync(this.#log.write)
    if (core !== undefined) pin(service.pid!, [core])
    this.#service = service
    service.once('exit', () => {
      this.#isUp = false
      if (this.#service === service && !this.#ended) this.#restartNext(CRASHED_MS)
    })
    for (
      const until = Date.now() + START_MS;
      Date.now() < until && service.exitCode === null && !this.#ended;
      await sleep(50)
    ) {
      this.#isUp = await fetch(`http://127.0.0.1:${port}/api/about`, { signal: AbortSignal.timeout(2000) }).then(
        answer => answer.ok,
        () => false,
      )
      if (this.#isUp) return
    }
  }

  /** Kills the service, because one that has melted would handle a SIGTERM late. */
  async #endService(): Promise<void> {
    const service = this.#service
    this.#service = undefined
    this.#isUp = false
    await kill(service)
    this.#log?.close()
    this.#log = undefined
  }
}

/** Resolves when the process has exited. */
async function kill(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}
