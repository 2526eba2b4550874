/**
 * What the agent sends to HAProxy: how many requests the service takes at once (`maxconn`), and whether it takes any (the
 * weight). Pure: figures and the time in, a line out.
 *
 * Until anything is known no number is sent: HAProxy keeps the last one, or that of its configuration. Then there
 * are two states.
 *
 * - Open: the number is out of everybody's way; after an overload it doubles at each look until it is. A burst is no overload:
 *   the service queues it and sheds none of it, while HAProxy's short queue would.
 * - Held: from the first sheds until the service is no longer busy. The number is the limit, and what the limit does not count
 *   (answers that stream without a permit, stragglers, exempt requests, upgraded connections), and a short queue of our own.
 *   Without that the limit would never bind, and so never be found again, and the service would idle while HAProxy sends the
 *   next request.
 *
 * HAProxy's own queue is invisible to us, and HAProxy keeps the last number, also from a process that has ended. So the
 * number is sent at every check.
 */
import type { GuardStats } from '../server/guard.ts'

export type Figures = Pick<
  GuardStats,
  | 'abandoned'
  | 'admitted'
  | 'draining'
  | 'dryRun'
  | 'inflight'
  | 'limit'
  | 'limitKnown'
  | 'open'
  | 'queued'
  | 'shed'
  | 'utilisation'
>

/** What HAProxy is taken to have been told before: what the limiter starts with and the room. As `maxconn` in haproxy.cfg. */
const START = 20
/** The number while it is open: the service queues a burst of this size by itself. */
const OPEN = 400
/** The limiter itself admits no more. */
const MOST = 10_000
/** So much work may wait here, ms: HAProxy takes a few ms to send the next, more on a busy core. The queue must not stand. */
const ROOM_MS = 30
const LEAST_ROOM = 4
/** Weight of a rate by its age, ms. */
const RATE_MS = 1000
/** Of the utilisation. At less the service waits for work to come. */
const BUSY = 0.9
/** The utilisation is that of up to two seconds, and a process that has just started has rested in them. */
const REST_MS = 2000
/** Factor applied at each check. */
const LESS = 0.8
/** Sheds for want of capacity. */
const OVERLOAD: readonly (keyof GuardStats['shed'])[] = ['standing', 'stale', 'late', 'full']

export const RELEASE: string = `up 100% maxconn:${MOST}\n`
/** Not `drain`: only `ready` ends that, and `ready` also ends what the operator has set by hand. */
export const DRAIN = 'up 0%\n'

export class Advice {
  #seen: { readonly atMs: number; readonly admitted: number; readonly shed: number } | undefined
  /** Admitted a second. */
  #rate = 0
  #told: number | undefined
  /** Or the first look. */
  #busyAt: number | undefined
  #holds = false

  /** @param figures undefined: nothing listens */
  line(figures: Figures | undefined, nowMs: number): string {
    if (figures === undefined || figures.draining) return DRAIN
    const sheds = this.#look(figures, nowMs)
    if (figures.dryRun) return RELEASE
    const { abandoned, inflight, limit, limitKnown, open, queued, utilisation } = figures
    const room = Math.max(LEAST_ROOM, Math.round((this.#rate * ROOM_MS) / 1000))
    // Some of what HAProxy has sent may not have been read yet.
    const isFull = this.#told !== undefined && open >= this.#told - room
    const isBusy = utilisation >= BUSY
    if (isBusy) this.#busyAt = nowMs
    this.#busyAt ??= nowMs
    const hasRested = nowMs - this.#busyAt >= REST_MS
    const waits = queued > 0 && (isFull || this.#told === undefined)
    if (sheds || (isFull && isBusy) || (waits && limitKnown)) this.#holds = true
    else if (hasRested) this.#holds = false
    if (!this.#holds) {
      const most = Math.min(MOST, Math.max(OPEN, 2 * open))
      if (hasRested && !waits) this.#told = Math.min(2 * (this.#told ?? most), most)
      return this.#line
    }
    // HAProxy counts no request whose client has left.
    const wanted = Math.max(0, inflight - abandoned)
    const flows = Math.max(0, open - queued - wanted)
    const uncounted = flows + room
    // Of a busy loop whose handlers never wait no limit is ever found: less, until it rests.
    const free = limitKnown
      ? Math.max(1, limit - (inflight - wanted))
      : Math.max(1, Math.round(LESS * (this.#told ?? START)) - uncounted)
    this.#told = Math.min(MOST, free + uncounted)
    return this.#line
  }

  /** HAProxy is held to a number. */
  get holds(): boolean {
    return this.#holds
  }

  get #line(): string {
    return this.#told === undefined ? 'up 100%\n' : `up 100% maxconn:${this.#told}\n`
  }

  /** Whether any were shed for want of capacity since the last look. */
  #look({ admitted, shed: shedFor }: Figures, nowMs: number): boolean {
    const shed = OVERLOAD.reduce((sum, reason) => sum + (shedFor[reason] ?? 0), 0)
    const before = this.#seen ?? { atMs: nowMs, admitted, shed }
    this.#seen = { atMs: nowMs, admitted, shed }
    const passedMs = Math.max(1, nowMs - before.atMs)
    // Counters of several processes fall when one of them ends.
    const came = Math.max(0, admitted - before.admitted)
    this.#rate += ((came * 1000) / passedMs - this.#rate) * Math.min(1, passedMs / RATE_MS)
    return shed > before.shed
  }
}
