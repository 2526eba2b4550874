/** One place in a fleet, and the process that runs there. The process starts, drains, crashes, hangs and restarts. */
import { Advice } from '../../src/haproxy/advice.ts'
import { type LoadReport, loadReport } from '../../src/server/response/load-report.ts'
import { SteadyLoad } from '../../src/server/response/steady-load.ts'
import type { GateTuning } from '../../src/admission/gate.ts'
import { arriving, Instance, type InstanceRequest, type MakesLimiter } from '../instance.ts'
import { Loop } from '../loop.ts'
import { Random } from '../random.ts'
import type { Workload } from '../workload.ts'
import { Driver, type FleetClock } from './clock.ts'

/** The outcome of one try at one member. `refused`: no process listens. `reset`: the process died. */
export type Outcome = 'answered' | 'failed' | 'shed' | 'refused' | 'reset'

export interface Try {
  /** When the client made the request, ms. */
  readonly createdAt: number
  /** The try is a retry. */
  readonly retried: boolean
  /** `mark`: the request must not be tried again. */
  readonly over: (outcome: Outcome, atMs: number, report: LoadReport | undefined, mark: boolean) => void
}

/** A request in a process. If it is a retry, the calls that it makes count as retries too. */
export interface FleetRequest extends InstanceRequest {
  readonly try: Try
  readonly member: Member
  /** A failing answer carries the mark that forbids retries. */
  mark: boolean
}

export interface Process {
  readonly workload: Workload
  readonly limiter: MakesLimiter | undefined
  readonly tuning?: GateTuning
}

/** A report is made at most once in this time (src/server/response/load-reports.ts), ms. */
const REPORT_EVERY_MS = 100
/** Agents read the figures at most once in this time (src/haproxy/agent.ts), ms. */
const ADVISE_EVERY_MS = 100

export class Member {
  readonly id: number
  /** `closed`: it finishes its requests and no longer listens. */
  state: 'down' | 'up' | 'draining' | 'closed' = 'down'
  hangs = false
  /** Requests that arrived, sheds included, and those answered well. */
  came = 0
  good = 0
  readonly #clock: FleetClock
  readonly #process: Process
  readonly #hopMs: number
  readonly #seed: number
  #starts = 0
  #instance: Instance<FleetRequest> | undefined
  #driver: Driver | undefined
  #steady = new SteadyLoad()
  #report: LoadReport | undefined
  #reportedAt = Number.NEGATIVE_INFINITY
  #advice = new Advice()
  #line = ''
  #advisedAt = Number.NEGATIVE_INFINITY
  readonly #open = new Set<FleetRequest>()

  constructor(clock: FleetClock, id: number, process: Process, hopMs: number, seed: number) {
    this.id = id
    this.#clock = clock
    this.#process = process
    this.#hopMs = hopMs
    this.#seed = seed
  }

  get open(): number {
    return this.#open.size
  }

  get listens(): boolean {
    return this.state === 'up' || this.state === 'draining'
  }

  get instance(): Instance<FleetRequest> | undefined {
    return this.#instance
  }

  /** Starts a new, cold process that has learned nothing yet. */
  start(): void {
    const { workload, limiter, tuning } = this.#process
    const seed = this.#seed + 7919 * this.#starts++
    const loop = new Loop(workload.core?.(new Random(seed + 0x5eed)))
    this.#driver = new Driver(this.#clock, loop)
    const hooks = {
      answered: (request: FleetRequest) => this.#over(request, request.failed ? 'failed' : 'answered'),
      shed: (request: FleetRequest) => this.#over(request, 'shed'),
    }
    const options = { limiter, ...(tuning !== undefined && { tuning }) }
    this.#instance = new Instance<FleetRequest>(loop, workload, options, hooks, new Random(seed), seed)
    this.#steady = new SteadyLoad()
    this.#report = undefined
    this.#reportedAt = Number.NEGATIVE_INFINITY
    this.#advice = new Advice()
    this.#advisedAt = Number.NEGATIVE_INFINITY
    this.hangs = false
    this.state = 'up'
  }

  /** Ends the process at once, with all its open requests. */
  crash(): void {
    this.state = 'down'
    this.#driver?.halt()
    this.#instance = undefined
    for (const request of this.#open) {
      request.state = 'over'
      this.#clock.at(this.#clock.nowMs + this.#hopMs, () =>
        request.try.over('reset', this.#clock.nowMs, undefined, false),
      )
    }
    this.#open.clear()
  }

  hang(): void {
    this.hangs = true
    this.#driver?.halt()
  }

  goOn(): void {
    this.hangs = false
    this.#driver?.goOn()
  }

  /**
   * Drains like guard.drain(): reports not ready at once, serves for `delayMs`, then finishes the open requests.
   */
  drain(delayMs: number, ended: () => void): void {
    if (this.state !== 'up') return
    this.state = 'draining'
    const isEmpty = (): boolean => {
      if (this.state !== 'closed') return false
      if (this.open > 0) return true
      this.crash()
      ended()
      return false
    }
    this.#clock.at(this.#clock.nowMs + delayMs, () => {
      if (this.state !== 'draining') return
      this.state = 'closed'
      this.#clock.every(50, this.#clock.nowMs, isEmpty)
    })
  }

  /** Delivers a try at `atMs`. Returns a function that informs the process that the client has gone. */
  take(one: Try, atMs: number): () => void {
    const instance = this.#instance
    if (instance === undefined || !this.listens) {
      this.#clock.at(atMs + this.#hopMs, () => one.over('refused', this.#clock.nowMs, undefined, false))
      return () => undefined
    }
    this.came++
    const request: FleetRequest = { ...arriving(one.createdAt), try: one, member: this, mark: false }
    this.#open.add(request)
    this.inLoop(atMs, () => instance.readHead(request))
    return () =>
      this.inLoop(this.#clock.nowMs + this.#hopMs, () => {
        if (request.state === 'over') return
        this.#open.delete(request)
        instance.leaves(request)
      })
  }

  /** A balancer polls the agent, which answers once the loop has time. Without a listening process, no answer comes. */
  advise(atMs: number, hear: (line: string) => void): void {
    const instance = this.#instance
    if (instance === undefined || this.state === 'closed') return
    this.inLoop(atMs, ({ nowMs }) => {
      if (nowMs - this.#advisedAt >= ADVISE_EVERY_MS) {
        this.#advisedAt = nowMs
        const figures = { ...instance.figures(), draining: this.state !== 'up' }
        this.#line = this.#advice.line(figures, nowMs)
      }
      const line = this.#line
      this.#clock.at(nowMs + this.#hopMs, () => hear(line))
    })
  }

  /** Runs `task` in the loop of the process, at `atMs` or as soon as the loop has time after it. */
  inLoop(atMs: number, task: (loop: Loop) => void): void {
    const loop = this.#instance?.loop
    if (loop === undefined) return
    loop.readyAt(atMs, () => task(loop))
    this.#driver!.wake()
  }

  /** Wakes the loop when a call that the process made is answered. */
  wake(): void {
    this.#driver?.wake()
  }

  #over(request: FleetRequest, outcome: Outcome): void {
    if (!this.#open.delete(request)) return
    const { nowMs } = this.#instance!.loop
    if (outcome === 'answered') this.good++
    const report = this.#reportAt(nowMs)
    const mark = outcome === 'shed' || request.mark
    this.#clock.at(nowMs + this.#hopMs, () => request.try.over(outcome, this.#clock.nowMs, report, mark))
  }

  #reportAt(nowMs: number): LoadReport | undefined {
    if (nowMs - this.#reportedAt < REPORT_EVERY_MS) return this.#report
    this.#reportedAt = nowMs
    const figures = this.#instance!.loadFigures(nowMs)
    this.#report = figures && loadReport(this.#steady.steadied(figures, nowMs))
    return this.#report
  }
}
