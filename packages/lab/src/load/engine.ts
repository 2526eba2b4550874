/**
 * One worker's load: takes arrivals when they are due, puts them on connections, and counts what becomes of them.
 * Knows neither threads nor reports. All times are milliseconds since the start of the run.
 *
 * The flow: arrival due -> connection (free, new, or waited for) -> sent -> answer | failure -> tally.
 */
import { type ArrivalSource, shareOf, sourceOf } from './arrival-source.ts'
import { nowMs } from './clock.ts'
import { Connection, type ConnectionOwner, type Peer } from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import { Fifo } from './fifo.ts'
import { NumberedRequest } from './numbered-request.ts'
import { type Freeze, Pacer } from './pacer.ts'
import type { Counts, FailureCode, LoadPlan, LoadProgress } from './plan.ts'
import { Tally, type TallyData } from './tally.ts'

/**
 * Connections of the standing set that may be connecting at once, over all workers: a Node server accepts one
 * connection per turn of its loop, and its backlog is 511.
 */
const CONNECTING_AT_ONCE = 100
/** Requests sent in one go before the answers that came meanwhile are read. */
const SENDS_AT_ONCE = 64
/** Deadlines are looked at this often; a timeout is late by at most this much. */
const SWEEP_MS = 4

export interface EngineJob {
  readonly plan: LoadPlan
  /** Undefined when the name in the URL has no address: every request fails as `unresolved`. */
  readonly peer: Peer | undefined
  readonly worker: number
  readonly workers: number
  /** One 32-bit word: 0 while running, 1 to stop at once. */
  readonly control: Int32Array
}

export type EngineProgress = Pick<LoadProgress, keyof Counts | 'inflight'>

export interface EngineReport {
  readonly tally: TallyData
  readonly elapsedMs: number
  readonly aborted: boolean
  /** CPU of this thread during the run, and of that the share spent spinning while there was nothing to do. */
  readonly cpuMs: number
  readonly idleMs: number
  readonly freezes: readonly Freeze[]
  /** Requests given up without being sent, by what they waited for. */
  readonly unsentForConnection: number
  readonly unsentForGenerator: number
  /** Standing connections wanted and opened before the start. */
  readonly standingWanted: number
  readonly standingOpened: number
  /** Numbers of the requests answered 2xx; empty unless the plan is numbered. */
  readonly acknowledged: Uint32Array
}

/** CPU of this thread in milliseconds; of the process where Node can not tell (before 23.9). */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}

export class Engine implements ConnectionOwner {
  readonly #job: EngineJob
  readonly #source: ArrivalSource
  readonly #tally: Tally
  readonly #pacer: Pacer
  readonly #pool: ConnectionPool
  readonly #fresh: boolean
  readonly #newestFirst: boolean
  readonly #standing: number
  readonly #numbered: NumberedRequest | undefined
  #number: number
  readonly #acknowledged: number[] = []

  /** Due times of requests that wait for a connection. */
  readonly #waiting = new Fifo<number>()
  /** In order of due time, so that the first is the first to time out. */
  readonly #inflight = new Set<Connection>()
  /** Some request waits because the cap on connections is reached. */
  #capped = false
  #lastSweep = 0

  #originMs = 0
  #running = false
  #unsentForConnection = 0
  #unsentForGenerator = 0
  #lastAnswerAt = 0
  #typicalMs = 0
  #sentAtSweep = 0
  #ratePerMs = 0
  #cpuAtStart = 0
  #resolve: ((report: EngineReport) => void) | undefined

  constructor(job: EngineJob) {
    const { plan, worker, workers } = job
    this.#job = job
    this.#source = sourceOf(plan.arrival, worker, workers)
    this.#tally = new Tally(plan.sloMs)
    const { connections } = plan
    this.#fresh = connections.kind === 'fresh'
    this.#standing = connections.kind === 'fresh' ? 0 : shareOf(connections.count, worker, workers)
    const most =
      connections.kind === 'fresh' ? Number.POSITIVE_INFINITY : Math.max(1, shareOf(connections.max, worker, workers))
    const connectingAtOnce = Math.max(1, Math.floor(CONNECTING_AT_ONCE / workers))
    this.#pool = new ConnectionPool(
      { standing: this.#standing, most, connectingAtOnce },
      () => new Connection(this, job.peer!),
    )
    this.#newestFirst = connections.kind === 'keep-alive' && connections.newestFirst === true
    this.#pacer = new Pacer(job.control, () => this.#turn())
    this.#numbered =
      plan.numbered && job.peer ? new NumberedRequest(job.peer.request, plan.numbered.senders) : undefined
    this.#number = worker
  }

  /** Opens the standing set. */
  async open(): Promise<void> {
    if (this.#standing === 0 || this.#job.peer === undefined) return
    await this.#pool.openStanding(this.#job.plan.connectTimeoutMs + this.#standing * 5)
  }

  /** Runs the schedule. `startAt` is a time of `nowMs()`. */
  run(startAt: number): Promise<EngineReport> {
    return new Promise(resolve => {
      this.#resolve = resolve
      this.#originMs = startAt
      const begin = (): void => {
        this.#cpuAtStart = cpuMs()
        this.#running = true
        this.#lastSweep = this.#now()
        this.#pacer.start(startAt)
        this.#turn()
      }
      setTimeout(begin, Math.max(0, startAt - nowMs() - 2))
    })
  }

  /** Checks the control word now, in case the engine is asleep. */
  wake(): void {
    if (this.#running) this.#turn()
    else this.#pool.standingDone()
  }

  progress(): EngineProgress {
    const { scheduledCount, sentCount, answered, failed, good } = this.#tally
    return { scheduled: scheduledCount, sent: sentCount, answered, failed, good, inflight: this.#inflight.size }
  }

  #now(): number {
    return nowMs() - this.#originMs
  }

  /** One turn: send what is due, give up what is too late, then wait for whatever comes next. */
  #turn(): void {
    if (!this.#running) return
    const now = this.#pacer.turnBegins()
    if (this.#job.control[0] === 1) {
      this.#finish(now, true)
      return
    }
    this.#serveWaiting(now)
    this.#sendDue(now)
    if (now - this.#lastSweep >= SWEEP_MS) this.#sweep(now)
    const due = this.#source.peek()
    const nothingLeft = due === Number.POSITIVE_INFINITY && this.#inflight.size === 0 && this.#waiting.length === 0
    if (nothingLeft && this.#pool.closing === 0 && now >= this.#source.durationMs) {
      this.#finish(now, false)
      return
    }
    this.#pacer.wait({
      due: nothingLeft && now < this.#source.durationMs ? this.#source.durationMs : due,
      busy: this.#inflight.size > 0 || this.#waiting.length > 0,
      urgent: this.#waiting.length > 0 && !this.#capped,
      behind: this.#waiting.length > 0,
      // What an answer may be read late without anyone noticing: it follows how slow the answers are.
      answerScaleMs: Math.max(this.#typicalMs, now - this.#lastAnswerAt),
      ratePerMs: this.#ratePerMs,
    })
  }

  #sendDue(now: number): void {
    let at = now
    for (let sends = 0; sends < SENDS_AT_ONCE; sends++) {
      const due = this.#source.peek()
      if (due > at) return
      this.#source.advance()
      this.#tally.scheduled(due)
      this.#place(due, at)
      at = this.#now()
    }
  }

  /** Finds a connection for a request that is due. */
  #place(due: number, at: number): void {
    this.#pacer.did()
    if (at - due > this.#job.plan.timeoutMs) {
      this.#unsentForGenerator++
      this.#giveUp(at)
    } else if (this.#job.peer === undefined) {
      this.#tally.sent(due, at, false)
      this.#tally.fail(due, 'unresolved', '')
      this.#source.ended(at, false)
    } else {
      const connection =
        this.#waiting.length > 0 ? undefined : this.#fresh ? this.#pool.connect(at) : this.#pool.takeFree()
      // Before another connection is opened for it, the answers that lie unread get their chance to free one.
      if (connection === undefined) this.#waiting.push(due)
      else this.#send(connection, due, at, false)
    }
  }

  #giveUp(at: number): void {
    this.#tally.unsent()
    this.#source.ended(at, true)
  }

  #send(connection: Connection, due: number, at: number, waited: boolean): void {
    connection.due = due
    connection.sentAt = at
    if (this.#numbered !== undefined) {
      connection.number = this.#number
      connection.request = this.#numbered.bytes(this.#number, Date.now())
      this.#number += this.#job.workers
    }
    this.#inflight.add(connection)
    this.#tally.sent(due, at, waited)
    connection.send()
  }

  /**
   * The requests that wait longest take what is free; then one more connection is opened where the cap allows it. One a
   * turn, so that answers are read in between and free what is there: a generator that catches up after a pause would
   * otherwise open hundreds at once, and measure them.
   */
  #serveWaiting(now: number): void {
    while (this.#waiting.length > 0) {
      const free = this.#pool.takeFree()
      if (free === undefined) break
      this.#send(free, this.#nextWaiting(), now, this.#capped)
    }
    const more = this.#waiting.length > 0 && this.#pool.hasRoom
    if (more) this.#send(this.#pool.connect(now), this.#nextWaiting(), now, this.#capped)
    this.#capped = this.#waiting.length > 0 && !more
  }

  #nextWaiting(): number {
    return (this.#newestFirst ? this.#waiting.pop() : this.#waiting.shift())!
  }

  onBytes(count: number): void {
    this.#tally.bytesRead += count
  }

  onConnected(connection: Connection): void {
    this.#pool.connected(connection)
    if (this.#running) this.#pacer.cameIn()
  }

  onAnswer(connection: Connection, status: number, reusable: boolean): void {
    const readLag = this.#pacer.cameIn()
    const now = this.#pacer.lastSeen
    const latency = now - connection.due
    this.#inflight.delete(connection)
    this.#tally.answer(connection.due, status, latency, connection.sentAt - connection.due + readLag)
    if (this.#numbered !== undefined && status >= 200 && status < 300) this.#acknowledged.push(connection.number)
    // A slow average with weight 1/16: enough to tell microseconds from milliseconds.
    this.#typicalMs += (now - connection.sentAt - this.#typicalMs) / 16
    this.#lastAnswerAt = now
    this.#pool.answered(connection, reusable, now)
    this.#source.ended(now, true)
    if (this.#waiting.length > 0 && this.#pool.hasFree) {
      const next = this.#pool.takeFree()
      if (next !== undefined) this.#send(next, this.#nextWaiting(), now, this.#capped)
    }
    if (this.#source.peek() <= now) this.#sendDue(now)
  }

  onFailed(connection: Connection, code: FailureCode, reason: string): void {
    const connected = this.#pool.lost(connection)
    if (!this.#running) return
    this.#pacer.cameIn()
    if (connection.busy) this.#failRequest(connection, code, reason, connected)
  }

  #failRequest(connection: Connection, code: FailureCode, reason: string, connected: boolean): void {
    this.#inflight.delete(connection)
    this.#tally.fail(connection.due, code, reason)
    this.#source.ended(this.#now(), connected)
  }

  onGone(connection: Connection): void {
    this.#pacer.cameIn()
    this.#pool.gone(connection)
  }

  /** Gives up what has waited too long: for an answer, a connection or a place, or for the server to close. */
  #sweep(now: number): void {
    const { timeoutMs, connectTimeoutMs } = this.#job.plan
    this.#ratePerMs = (this.#tally.sentCount - this.#sentAtSweep) / (now - this.#lastSweep)
    this.#sentAtSweep = this.#tally.sentCount
    this.#lastSweep = now
    for (const connection of this.#pool.overdue(now, connectTimeoutMs)) this.#drop(connection, 'connect-timeout')
    for (const connection of this.#inflight) {
      if (connection.due + timeoutMs > now) break
      // Without a connection by then it was the connection that timed out, whatever its own limit.
      this.#drop(connection, this.#pool.isConnecting(connection) ? 'connect-timeout' : 'response-timeout')
    }
    for (let due = this.#waiting.peek(); due !== undefined && due + timeoutMs <= now; due = this.#waiting.peek()) {
      this.#waiting.shift()
      this.#unsentForConnection++
      this.#giveUp(now)
    }
    const ending = this.#source.peek() === Number.POSITIVE_INFINITY && this.#inflight.size === 0
    this.#pool.tidy(now, ending, now < this.#source.durationMs)
  }

  #drop(connection: Connection, code: FailureCode): void {
    const connected = this.#pool.lost(connection)
    const { busy } = connection
    connection.destroy()
    if (busy) this.#failRequest(connection, code, '', connected)
  }

  #finish(now: number, aborted: boolean): void {
    this.#running = false
    this.#pacer.stop()
    const elapsedMs = Math.max(0, now)
    if (aborted) {
      for (let due = this.#source.peek(); due <= now; due = this.#source.peek()) {
        this.#source.advance()
        this.#tally.scheduled(due)
        this.#tally.unsent()
      }
      while (this.#waiting.shift() !== undefined) this.#tally.unsent()
      for (const connection of this.#inflight) this.#tally.fail(connection.due, 'aborted', '')
    }
    for (const connection of this.#inflight) connection.destroy()
    this.#pool.destroy()
    this.#inflight.clear()
    this.#resolve?.({
      tally: this.#tally.data(),
      elapsedMs,
      aborted,
      cpuMs: cpuMs() - this.#cpuAtStart,
      idleMs: this.#pacer.idleMs,
      freezes: this.#pacer.freezes,
      unsentForConnection: this.#unsentForConnection,
      unsentForGenerator: this.#unsentForGenerator,
      standingWanted: this.#standing,
      standingOpened: this.#pool.standingOpened,
      acknowledged: Uint32Array.from(this.#acknowledged),
    })
  }
}
