/**
 * A generator in its own process that is stopped (SIGSTOP) once in a run and continues (SIGCONT) some time later. The
 * server is in this process. It works for a fixed time on each request, one at a time. A run begins when the server
 * gets the first request.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { pinSelf } from '../../packages/lab/src/launch/core-pinning.ts'
import { planOf } from '../../packages/lab/src/load/load-request.ts'
import type { Certificate } from '../../packages/lab/src/load/plan.ts'
import { runLoad } from '../../packages/lab/src/load/run.ts'

export interface StoppedCase {
  /** Requests per second, and the time that the server works on each. The load is their product. */
  readonly rate: number
  readonly workMs: number
  readonly durationMs: number
}

export interface Stop {
  /** Delay after the first request. */
  readonly afterMs: number
  readonly lengthMs: number
}

export interface StoppedRun {
  readonly certificate: Certificate
  readonly why: readonly string[]
}

const CONNECTIONS = 50
const SELF = fileURLToPath(import.meta.url)

export class StoppedGenerator {
  readonly #child: ChildProcess
  readonly #server: Server
  #workMs = 0
  #begun: (() => void) | undefined

  /** `core` is the core of the generator; any core when undefined. */
  constructor(core?: number) {
    this.#child = fork(SELF, core === undefined ? [] : [String(core)])
    this.#server = createServer({ keepAliveTimeout: 0 }, (_, response) => {
      this.#begun?.()
      this.#begun = undefined
      const until = performance.now() + this.#workMs
      while (performance.now() < until);
      response.end('ok')
    })
  }

  async run(kind: StoppedCase, stop?: Stop): Promise<StoppedRun> {
    if (!this.#server.listening) await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    const { port } = this.#server.address() as { port: number }
    this.#workMs = kind.workMs
    this.#begun = () => {
      if (stop === undefined) return
      setTimeout(() => {
        this.#child.kill('SIGSTOP')
        setTimeout(() => this.#child.kill('SIGCONT'), stop.lengthMs)
      }, stop.afterMs)
    }
    this.#child.send({ url: `http://127.0.0.1:${port}/`, ...kind })
    const [run] = (await once(this.#child, 'message')) as [StoppedRun]
    return run
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

if (process.send !== undefined && process.argv[1] === SELF) {
  const [, , core] = process.argv
  if (core !== undefined) pinSelf(Number(core))
  process.on('message', async ({ url, rate, durationMs }: StoppedCase & { url: string }) => {
    const { certificate, why } = await runLoad(planOf({ url, rate, durationMs, connections: CONNECTIONS }))
    process.send!({ certificate, why })
  })
}
