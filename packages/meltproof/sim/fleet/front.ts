/**
 * A proxy in front of members. It checks whether they are ready, lets a balancer choose, queues a few requests when all
 * are full, and sends a request elsewhere if no process has begun it. With agent checks, members report their
 * concurrency and whether they accept new requests.
 */
import type { Balancer, Server } from './balancers/balancer.ts'
import type { FleetClock } from './clock.ts'
import type { Member, Outcome, Try } from './member.ts'
import type { Random } from '../random.ts'

export interface FrontOptions {
  readonly balancer: Balancer
  /** Most requests at once per server, until its agent reports another number. @default Infinity */
  readonly maxconn?: number
  /** Polls the servers' agents, as HAProxy does. @default false */
  readonly asksAgents?: boolean
  /** How long requests wait while all servers are full, ms, and how many may wait. @default 100 and 500 */
  readonly queueMs?: number
  readonly mostQueued?: number
  /** One-way latency, ms. @default 0.3 */
  readonly hopMs?: number
  readonly random: Random
}

/**
 * The outcome of a request. `turned away`: by the proxy. `lost`: the process died after it had begun, or none listened.
 */
export type End = 'answered' | 'failed' | 'shed' | 'turned away' | 'lost'

export interface Call {
  readonly createdAt: number
  readonly retried: boolean
  readonly ended: (end: End, atMs: number, mark: boolean) => void
}

interface Waiting {
  readonly call: Call
  tries: number
  /** The request has ended, or its client has gone. */
  gone: boolean
  leave: (() => void) | undefined
  /** The server that tried it last. */
  avoid: Place | undefined
}

interface Place extends Server {
  readonly member: Member
  ready: boolean
  failures: number
  /** The agent reports that the server accepts new requests. */
  invited: boolean
  removed: boolean
}

const CHECK_EVERY_MS = 2000
const CHECK_TIMEOUT_MS = 1000
/** A server leaves the rotation after this many checks in a row fail or report that it is not ready. */
const FALL = 3
const ASK_EVERY_MS = 200
/** The most servers that one request tries. */
const TRIES = 3

export class Front {
  /** Requests refused by this proxy. */
  refused = 0
  readonly #clock: FleetClock
  readonly #options: Required<Omit<FrontOptions, 'maxconn'>> & { readonly maxconn: number }
  readonly #places: Place[] = []
  #queue: Waiting[] = []
  #queued = 0

  constructor(clock: FleetClock, options: FrontOptions) {
    this.#clock = clock
    this.#options = {
      maxconn: Number.POSITIVE_INFINITY,
      asksAgents: false,
      queueMs: 100,
      mostQueued: 500,
      hopMs: 0.3,
      ...options,
    }
    const { balancer } = this.#options
    if (balancer.updateEveryMs !== undefined)
      clock.every(balancer.updateEveryMs, balancer.updateEveryMs, () => balancer.update!(clock.nowMs))
  }

  get servers(): readonly Server[] {
    return this.#places
  }

  /** Checks the member at once, and adds it to the rotation when it is ready. */
  add(member: Member): void {
    const place: Place = {
      id: member.id,
      member,
      open: 0,
      maxconn: this.#options.maxconn,
      ready: false,
      failures: 0,
      invited: true,
      removed: false,
    }
    this.#places.push(place)
    this.#clock.every(CHECK_EVERY_MS, this.#clock.nowMs, () => this.#check(place))
    // Spreads the agent checks over time.
    const firstMs = this.#clock.nowMs + ASK_EVERY_MS * (0.5 + 0.5 * this.#options.random.next())
    if (this.#options.asksAgents) this.#clock.every(ASK_EVERY_MS, firstMs, () => this.#ask(place))
  }

  remove(member: Member): void {
    const index = this.#places.findIndex(place => place.member === member)
    if (index < 0) return
    this.#places[index]!.removed = true
    this.#places.splice(index, 1)
    this.#rotate()
  }

  /** Returns a function to call when the client has gone. */
  send(call: Call): () => void {
    const waiting: Waiting = { call, tries: 0, gone: false, leave: undefined, avoid: undefined }
    this.#route(waiting)
    return () => {
      if (waiting.gone) return
      waiting.gone = true
      waiting.leave?.()
    }
  }

  #route(waiting: Waiting): void {
    if (this.#queued === 0 && this.#sends(waiting)) return
    if (this.#places.every(place => !place.ready || !place.invited)) {
      this.#end(waiting, 'turned away')
      return
    }
    if (this.#queued >= this.#options.mostQueued) {
      this.#end(waiting, 'turned away')
      return
    }
    this.#queue.push(waiting)
    this.#queued++
    const dequeue = (end?: End): void => {
      const index = this.#queue.indexOf(waiting)
      if (index < 0) return
      this.#queue.splice(index, 1)
      this.#queued--
      if (end !== undefined) this.#end(waiting, end)
    }
    waiting.leave = dequeue
    this.#clock.at(this.#clock.nowMs + this.#options.queueMs, () => dequeue('turned away'))
  }

  #end(waiting: Waiting, end: End, mark = false): void {
    if (waiting.gone) return
    waiting.gone = true
    if (end === 'turned away') this.refused++
    waiting.call.ended(end, this.#clock.nowMs, mark)
  }

  #sends(waiting: Waiting): boolean {
    const { nowMs } = this.#clock
    const { balancer, hopMs } = this.#options
    const place = balancer.choose(waiting.avoid) as Place | undefined
    if (place === undefined) return false
    place.open++
    waiting.tries++
    let isOpen = true
    const free = (): void => {
      if (!isOpen) return
      isOpen = false
      place.open--
      this.#next()
    }
    const one: Try = {
      createdAt: waiting.call.createdAt,
      retried: waiting.call.retried,
      over: (outcome, atMs, report, mark) => {
        if (report !== undefined) balancer.reported?.(place, report, atMs)
        free()
        waiting.avoid = place
        this.#over(waiting, outcome, mark)
      },
    }
    const leave = place.member.take(one, nowMs + hopMs)
    waiting.leave = () => {
      leave()
      free()
    }
    return true
  }

  #over(waiting: Waiting, outcome: Outcome, mark: boolean): void {
    if (waiting.gone) return
    if (outcome === 'refused' && waiting.tries < TRIES) this.#route(waiting)
    else if (outcome === 'refused' || outcome === 'reset') this.#end(waiting, 'lost')
    else this.#end(waiting, outcome, mark)
  }

  #next(): void {
    while (this.#queued > 0) {
      const first = this.#queue[0]!
      if (!this.#sends(first)) return
      this.#queue.shift()
      this.#queued--
    }
  }

  #check(place: Place): boolean {
    if (place.removed) return false
    const { member } = place
    const told = (ready: boolean): void => {
      if (place.removed) return
      place.failures = ready ? 0 : place.failures + 1
      const before = place.ready
      place.ready = ready || (place.ready && place.failures < FALL)
      if (place.ready !== before) this.#rotate()
    }
    if (member.hangs) this.#clock.at(this.#clock.nowMs + CHECK_TIMEOUT_MS, () => told(false))
    else told(member.state === 'up')
    return true
  }

  #ask(place: Place): boolean {
    if (place.removed) return false
    place.member.advise(this.#clock.nowMs + this.#options.hopMs, line => this.#hear(place, line))
    return true
  }

  /** Keeps the previous maxconn if the line has none. */
  #hear(place: Place, line: string): void {
    const [, weight, maxconn] = /^up (\d+)%(?: maxconn:(\d+))?\n$/.exec(line) ?? []
    if (maxconn !== undefined) place.maxconn = Number(maxconn)
    const invited = weight !== '0'
    if (invited !== place.invited) {
      place.invited = invited
      this.#rotate()
    }
    this.#next()
  }

  #rotate(): void {
    this.#options.balancer.rotation(
      this.#places.filter(place => place.ready && place.invited),
      this.#clock.nowMs,
    )
    this.#next()
  }
}
