/**
 * A proxy in front of members: asks whether they are ready, lets a balancer choose, queues a few when all are full, and
 * sends elsewhere what no process has begun. Told members' agents say how many each takes at once, and whether any.
 */
import type { Balancer, Server } from './balancers/balancer.ts'
import type { FleetClock } from './clock.ts'
import type { Member, Outcome, Try } from './member.ts'
import type { Random } from '../random.ts'

export interface FrontOptions {
  readonly balancer: Balancer
  /** At once to each server, until its agent says otherwise. @default as many as come */
  readonly maxconn?: number
  /** The servers' agents are asked, as with HAProxy. @default false */
  readonly asksAgents?: boolean
  /** How long requests wait while all servers are full, ms, and how many. */
  readonly queueMs?: number
  readonly mostQueued?: number
  /** One way, ms. */
  readonly hopMs?: number
  readonly random: Random
}

/** What a request came to. `turned away`: by the proxy. `lost`: begun, and the process died. */
export type End = 'answered' | 'failed' | 'shed' | 'turned away' | 'lost'

export interface Call {
  readonly createdAt: number
  readonly retried: boolean
  readonly ended: (end: End, atMs: number, mark: boolean) => void
}

interface Waiting {
  readonly call: Call
  tries: number
  /** Its client has gone, or it has ended. */
  gone: boolean
  leave: (() => void) | undefined
  /** Where it has just been refused. */
  avoid: Place | undefined
}

interface Place extends Server {
  readonly member: Member
  ready: boolean
  failures: number
  /** The agent says that it takes new ones. */
  invited: boolean
  removed: boolean
}

const CHECK_EVERY_MS = 2000
const CHECK_TIMEOUT_MS = 1000
/** Failed checks in a row, or answers that it is not ready, until a server is out. */
const FALL = 3
const ASK_EVERY_MS = 200
/** Servers that are tried in all. */
const TRIES = 3

export class Front {
  /** Turned away here. */
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

  /** It is checked at once, and in rotation when it is ready. */
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
    // Not all at the same moment.
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

  /** What it returns says that the client has gone. */
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

  /** What is not said is not changed. */
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
