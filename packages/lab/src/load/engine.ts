/**
 * One worker's load: arrival due -> connection (free, new, or waited for) -> sent -> answer or failure -> tally. Knows
 * neither threads nor reports. Times are milliseconds since the start of the run.
 */
import type { ConnectionOptions } from 'node:tls'
import { type ArrivalSource, type JourneyRun, shareOf, sourceOf } from './arrival-source.ts'
import { BusyPeriod } from './busy-period.ts'
import { nowMs } from './clock.ts'
import type { Connection, ConnectionOwner, Dialer } from './connection.ts'
import { ConnectionPool, type PoolSize } from './connection-pool.ts'
import type { EngineJob, EngineProgress, EngineReport } from './engine-job.ts'
import { Fifo } from './fifo.ts'
import { Http1Connection } from './http1-connection.ts'
import { http2Dialer } from './http2-dialer.ts'
import { Journeys } from './journeys.ts'
import { OutgoingRequest } from './outgoing-request.ts'
import { Pacer } from './pacer.ts'
import type { FailureCode } from './plan.ts'
import { seededRandom } from './random.ts'
import { Tally } from './tally.ts'
import type { Peer } from './target.ts'
import { tlsOptions } from './tls.ts'

/** Maximum of concurrent connects, all workers: a Node server accepts one per turn of its loop; its backlog is 511. */
const CONNECTING_AT_ONCE = 100
/** Requests sent in a row before answers are read. */
const SENDS_AT_ONCE = 64
/** Interval at which deadlines are checked, so a timeout is late by this at most. */
const SWEEP_MS = 4

/** CPU time of this thread, ms. Before Node 23.9 it is that of the process. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}

interface DueRequest {
  readonly due: number
  readonly number: number
  readonly target: number
  readonly run: JourneyRun | undefined
}

/** One server: its connections, and the requests that wait for one, ordered by due time. */
interface Origin {
  readonly pool: ConnectionPool
  readonly waiting: Fifo<DueRequest>
  /** True if a request waits because of the cap on connections. */
  capped: boolean
}

export class Engine implements ConnectionOwner {
  readonly #job: EngineJob
  readonly #source: ArrivalSource
  readonly #journeys: Journeys | undefined
  readonly #tally: Tally
  readonly #pacer: Pacer
  readonly #origins: readonly Origin[]
  readonly #busyPeriod = new BusyPeriod()
  readonly #fresh: boolean
  readonly #newestFirst: boolean
  readonly #requests: readonly {
    readonly outgoing: OutgoingRequest
    readonly origin: Origin
    readonly reachable: boolean
  }[]
  readonly #acknowledged: number[] = []
  /** Connections whose request has not been sent yet. */
  #queued: Connection[] = []

  #number: number
  /** In the order of sending, which is nearly the order of due times. */
  readonly #inflight = new Set<Connection>()
  #lastSweep = 0

  #running = false
  #unsentForConnection = 0
  #unsentForGenerator = 0
  #lastAnswerAt = 0
  #typicalMs = 0
  #sentAtSweep = 0
  #ratePerMs = 0
  #cpuAtStart = 0
  readonly #report = Promise.withResolvers<EngineReport>()

  /** `source` replaces the plan's arrivals. */
  constructor(job: EngineJob, source?: ArrivalSource) {
    const { plan, worker, workers } = job
    this.#job = job
    const { arrival, journey } = plan
    this.#journeys = journey === undefined ? undefined : new Journeys({ arrival, journey }, worker, workers)
    this.#source = source ?? this.#journeys ?? sourceOf(arrival, worker, workers)
    this.#tally = new Tally(plan.sloMs, plan.timeoutMs, job.requests.length)
    const { connections } = plan
    this.#fresh = connections.kind === 'fresh'
    this.#origins = this.#makeOrigins()
    this.#newestFirst = connections.kind === 'keep-alive' && connections.newestFirst === true
    this.#pacer = new Pacer(job.control, () => this.#turn())
    const random = plan.templated ? seededRandom(worker) : undefined
    this.#requests = job.requests.map(({ text, peer }) => ({
      outgoing: new OutgoingRequest(text, random),
      origin: this.#origins[peer]!,
      reachable: job.peers[peer] !== undefined,
    }))
    this.#number = worker
  }

  /** Each server gets a share of this worker's connections. */
  #makeOrigins(): Origin[] {
    const { plan, peers, worker, workers } = this.#job
    const { connections } = plan
    const connectingAtOnce = Math.max(1, Math.floor(CONNECTING_AT_ONCE / workers / peers.length))
    const tls = peers.some(peer => peer?.tlsName !== undefined) ? tlsOptions(plan) : {}
    const [count, max] =
      connections.kind === 'fresh'
        ? [0, Number.POSITIVE_INFINITY]
        : [shareOf(connections.count, worker, workers), shareOf(connections.max, worker, workers)]
    return peers.map((peer, index) => {
      const standing = peer === undefined ? 0 : shareOf(count, index, peers.length)
      const most = Math.max(1, shareOf(max, index, peers.length))
      const size = { standing: Math.min(standing, most), most, connectingAtOnce }
      const streams = plan.http2?.streams ?? 1
      const pool = new ConnectionPool({ ...size, most: most * streams }, this.#dialerOf(peer!, tls, size))
      return { pool, waiting: new Fifo(), capped: false }
    })
  }

  #dialerOf(peer: Peer, tls: ConnectionOptions, size: Pick<PoolSize, 'standing' | 'most'>): Dialer {
    const { http2 } = this.#job.plan
    if (http2 !== undefined) return http2Dialer(this, peer, tls, { ...size, ...http2, fresh: this.#fresh })
    return { hasRoom: true, connect: () => new Http1Connection(this, peer, tls), destroy: () => {} }
  }

  async open(): Promise<void> {
    const { connectTimeoutMs } = this.#job.plan
    await Promise.all(this.#origins.map(({ pool }) => pool.openStanding(connectTimeoutMs)))
  }

  /** Runs the schedule. `startAt` is a time of `nowMs()`. */
  run(startAt: number): Promise<EngineReport> {
    const begin = (): void => {
      this.#cpuAtStart = cpuMs()
      this.#running = true
      this.#pacer.start(startAt)
      this.#lastSweep = this.#pacer.now()
      this.#turn()
    }
    setTimeout(begin, Math.max(0, startAt - nowMs() - 2))
    return this.#report.promise
  }

  /** Reads the control word now, in case the engine sleeps. Before the run, ends the opening of connections. */
  wake(): void {
    if (this.#running) this.#turn()
    else for (const { pool } of this.#origins) pool.standingDone()
  }

  progress(): EngineProgress {
    return { ...this.#tally.all, inflight: this.#inflight.size }
  }

  /** One turn: sends due requests, gives up late ones, then waits for the next event. */
  #turn(): void {
    if (!this.#running) return
    const now = this.#pacer.turnBegins()
    this.#noteSent(now)
    if (this.#job.control[0] === 1) {
      this.#finish(now, true)
      return
    }
    if (this.#pacer.readsFirst()) return
    for (const origin of this.#origins) this.#serveWaiting(origin, now)
    this.#sendDue(now)
    if (now - this.#lastSweep >= SWEEP_MS) this.#sweep(now)
    const due = this.#source.peek()
    const behind = this.#origins.some(({ waiting }) => waiting.length > 0)
    const nothingLeft = due === Number.POSITIVE_INFINITY && this.#inflight.size === 0 && !behind
    if (nothingLeft && this.#origins.every(({ pool }) => pool.closing === 0) && now >= this.#source.durationMs) {
      this.#finish(now, false)
      return
    }
    this.#pacer.wait({
      due: nothingLeft && now < this.#source.durationMs ? this.#source.durationMs : due,
      busy: this.#inflight.size > 0 || behind,
      urgent:
        this.#queued.length > 0 ||
        (behind && this.#origins.some(({ waiting, capped }) => waiting.length > 0 && !capped)),
      behind,
      // The slower the answers are, the later an answer may be read without an effect on the figures.
      answerScaleMs: Math.max(this.#typicalMs, now - this.#lastAnswerAt),
      ratePerMs: this.#ratePerMs,
    })
  }

  #sendDue(now: number): void {
    let at = now
    for (let sends = 0; sends < SENDS_AT_ONCE; sends++) {
      const due = this.#source.peek()
      if (due > at) return
      this.#place(this.#take(due), at)
      at = this.#pacer.now()
    }
  }

  /** Takes the due request and gives it a number; in a journey, the journey's number. */
  #take(due: number): DueRequest {
    const run = this.#journeys?.take()
    const number = run?.number ?? this.#number
    if (run === undefined) {
      this.#source.advance()
      this.#number += this.#job.workers
    }
    const target = run?.step ?? number % this.#requests.length
    this.#tally.scheduled(due, target)
    return { due, number, target, run }
  }

  #place(request: DueRequest, at: number): void {
    const { due, target, run } = request
    const { origin, reachable } = this.#requests[target]!
    this.#pacer.did()
    if (run?.refused === true) {
      this.#tally.unsent++
    } else if (at - due > this.#job.plan.timeoutMs) {
      this.#unsentForGenerator++
      this.#giveUp(request, at)
    } else if (!reachable) {
      this.#tally.sent(due, target, at, false)
      this.#tally.fail(due, target, 'unresolved', '', at - due, at - due)
      this.#source.ended(at, false, due, 'unresolved', at - due, run)
    } else {
      const connection =
        origin.waiting.length > 0 ? undefined : this.#fresh ? origin.pool.connect(at) : origin.pool.takeFree(at)
      // The request waits first: unread answers may free a connection, so that no other need be opened.
      if (connection === undefined) origin.waiting.push(request)
      else this.#send(connection, request, at, false)
    }
  }

  #giveUp({ due, run }: DueRequest, at: number): void {
    this.#tally.unsent++
    this.#source.ended(at, true, due, 'unsent', at - due, run)
  }

  #send(connection: Connection, { due, number, target, run }: DueRequest, at: number, waited: boolean): void {
    const { outgoing } = this.#requests[target]!
    connection.number = number
    connection.target = target
    connection.run = run
    connection.due = due
    connection.sentAt = at
    connection.ownMs = this.#busyPeriod.delayOf(at - due, this.#inflight.size, at)
    this.#inflight.add(connection)
    this.#tally.sent(due, target, at, waited)
    connection.send(outgoing)
    connection.bodySent = outgoing.bodyBytes
  }

  onQueued(connection: Connection): void {
    connection.queuedAt = this.#pacer.now()
    this.#queued.push(connection)
  }

  /**
   * Requests queued before this turn have been sent. The time since each was queued is the most that sending can have
   * taken, and counts as the generator's delay.
   */
  #noteSent(now: number): void {
    if (this.#queued.length === 0) return
    for (const connection of this.#queued) connection.ownMs += Math.max(0, now - connection.queuedAt)
    this.#queued = []
  }

  /** Waiting requests take free connections. At most one new one opens per turn: answers between turns free others. */
  #serveWaiting(origin: Origin, now: number): void {
    const { pool, waiting, capped } = origin
    while (waiting.length > 0) {
      const free = pool.takeFree(now)
      if (free === undefined) break
      this.#send(free, this.#nextWaiting(origin), now, capped)
    }
    const more = waiting.length > 0 && pool.hasRoom
    if (more) this.#send(pool.connect(now), this.#nextWaiting(origin), now, capped)
    origin.capped = waiting.length > 0 && !more
  }

  #nextWaiting({ waiting }: Origin): DueRequest {
    return (this.#newestFirst ? waiting.pop() : waiting.shift())!
  }

  #originOf({ peer }: Connection): Origin {
    return this.#origins[peer.index]!
  }

  onBytes(count: number): void {
    this.#tally.bytesRead += count
    if (this.#running) this.#pacer.noteInput()
  }

  onConnected(connection: Connection): void {
    this.#originOf(connection).pool.connected(connection)
    if (this.#running) this.#pacer.noteInput()
  }

  onAnswer(connection: Connection, status: number, reusable: boolean): void {
    const { lastSeen: now, unreadMs } = this.#pacer.lateness
    const { due, target, run } = connection
    const ownMs = connection.ownMs + unreadMs
    const origin = this.#originOf(connection)
    const { pool, waiting } = origin
    this.#inflight.delete(connection)
    this.#tally.answer(due, target, status, now - due, ownMs)
    this.#tally.bodyBytes += connection.bodyBytes
    this.#tally.bodyBytesSent += connection.bodySent
    if (this.#job.plan.acknowledged && status >= 200 && status < 300) this.#acknowledged.push(connection.number)
    // A slow average with weight 1/16: enough to tell microseconds from milliseconds.
    this.#typicalMs += (now - connection.sentAt - this.#typicalMs) / 16
    this.#lastAnswerAt = now
    pool.answered(connection, reusable, now)
    this.#source.ended(now, true, due, status, ownMs, run)
    const next = waiting.length > 0 ? pool.takeFree(now) : undefined
    if (next !== undefined) this.#send(next, this.#nextWaiting(origin), now, origin.capped)
    // After a gap, all answers are read before due requests are sent: answers show whether the server was idle during
    // the gap.
    if (this.#source.peek() <= now && !this.#pacer.lateness.catchingUp) this.#sendDue(now)
  }

  onFailed(connection: Connection, code: FailureCode, reason: string): void {
    const connected = this.#originOf(connection).pool.lost(connection)
    if (!this.#running) return
    this.#pacer.noteInput()
    if (connection.busy) this.#failRequest(connection, code, reason, connected, this.#pacer.lateness.unreadMs)
  }

  #failRequest(connection: Connection, code: FailureCode, reason: string, connected: boolean, unreadMs: number): void {
    const now = this.#pacer.now()
    const { due, target, run } = connection
    const ownMs = connection.ownMs + unreadMs
    this.#inflight.delete(connection)
    this.#tally.fail(due, target, code, reason, now - due, ownMs)
    this.#source.ended(now, connected, due, code, ownMs, run)
  }

  onGone(connection: Connection): void {
    if (this.#running) this.#pacer.noteInput()
    this.#originOf(connection).pool.gone(connection)
  }

  /** Gives up requests and connections that waited too long for an answer, a connection, or the server to close. */
  #sweep(now: number): void {
    const { timeoutMs, connectTimeoutMs } = this.#job.plan
    this.#ratePerMs = (this.#tally.all.sent - this.#sentAtSweep) / (now - this.#lastSweep)
    this.#sentAtSweep = this.#tally.all.sent
    this.#lastSweep = now
    // An answer that arrived in time but is unread is not late, so the check uses the time up to which all was read.
    const { readUpTo } = this.#pacer.lateness
    for (const { pool } of this.#origins) {
      for (const connection of pool.overdue(readUpTo, connectTimeoutMs)) this.#drop(connection, 'connect-timeout')
    }
    for (const connection of this.#inflight) {
      if (connection.due + timeoutMs > readUpTo) break
      // If the connection of a request is still opening, the connection is the cause, even before connectTimeoutMs.
      this.#drop(connection, connection.state === 'connecting' ? 'connect-timeout' : 'response-timeout')
    }
    const ending = this.#source.peek() === Number.POSITIVE_INFINITY && this.#inflight.size === 0
    for (const { pool, waiting } of this.#origins) {
      for (let first = waiting.peek(); first !== undefined && first.due + timeoutMs <= now; first = waiting.peek()) {
        waiting.shift()
        this.#unsentForConnection++
        this.#giveUp(first, now)
      }
      pool.tidy(now, ending, now < this.#source.durationMs)
    }
  }

  #drop(connection: Connection, code: FailureCode): void {
    const connected = this.#originOf(connection).pool.lost(connection)
    const { busy } = connection
    connection.destroy()
    if (busy) this.#failRequest(connection, code, '', connected, 0)
  }

  #finish(now: number, aborted: boolean): void {
    this.#running = false
    this.#pacer.stop()
    const elapsedMs = Math.max(0, now)
    if (aborted) {
      for (let due = this.#source.peek(); due <= now; due = this.#source.peek()) {
        this.#take(due)
        this.#tally.unsent++
      }
      for (const { waiting } of this.#origins) while (waiting.shift() !== undefined) this.#tally.unsent++
      for (const { due, target, ownMs } of this.#inflight) {
        this.#tally.fail(due, target, 'aborted', '', now - due, ownMs)
      }
    }
    for (const connection of this.#inflight) connection.destroy()
    for (const { pool } of this.#origins) pool.destroy()
    this.#inflight.clear()
    this.#report.resolve({
      tally: this.#tally.data(),
      elapsedMs,
      aborted,
      cpuMs: cpuMs() - this.#cpuAtStart,
      idleMs: this.#pacer.idleMs,
      freezes: this.#pacer.lateness.freezes,
      unsentForConnection: this.#unsentForConnection,
      unsentForGenerator: this.#unsentForGenerator,
      standingOpened: this.#origins.reduce((sum, { pool }) => sum + pool.standingOpened, 0),
      acknowledged: Uint32Array.from(this.#acknowledged),
      journeys: this.#journeys?.data(),
    })
  }
}
