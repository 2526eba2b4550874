/**
 * Makes the line that the agent sends to HAProxy: how many requests the service accepts at once (`maxconn`), and
 * whether it accepts any (the weight). docs/deploy/haproxy.md has the numbers with their reasons. Pure: turns figures
 * and the time into a line.
 *
 * - Open: the number is too high to limit anything. After an overload it doubles at each check, until it reaches OPEN
 *   or twice the number of requests that clients have open, whichever is more.
 * - Held: HAProxy is limited. This begins with the first shed, or when the number is reached while the service is busy
 *   or while requests wait at a known limit. It ends when the service has rested. The number is the limit, plus
 *   requests without a permit, plus a short queue in this process.
 */
import type { GuardStats } from '../server/guard.ts'

type Amount = 'abandoned' | 'admitted' | 'inflight' | 'limit' | 'open' | 'queued' | 'shed' | 'utilisation'

export type Figures = Pick<GuardStats, Amount | 'draining' | 'dryRun' | 'limitKnown'>

/** The number that HAProxy is assumed to have before the first one is sent: that of deploy/haproxy/haproxy.cfg. */
const START = 20
/** In the open state the number rises to at least this: the service queues a burst of this size itself. */
const OPEN = 400
/** The maximum number, which is also sent when HAProxy should limit nothing. */
const MOST = 10_000
/** Work in the short queue, ms: HAProxy needs a few ms to send the next request. More would count as overload. */
const ROOM_MS = 30
const LEAST_ROOM = 4
/** Time constant of the mean rate, ms. */
const RATE_MS = 1000
/** From this utilisation on the service is busy. Below it, the service waits for work. */
const BUSY = 0.9
/** The service has rested after this time without being busy, ms: utilisation covers up to two seconds. */
const REST_MS = 2000
/** Factor for the number at each check under overload, while the limit is unknown. */
const OVERLOAD_FACTOR = 0.8
/** Reasons of sheds for lack of capacity. */
const OVERLOAD: readonly (keyof GuardStats['shed'])[] = ['standing', 'stale', 'late', 'full']

export const RELEASE: string = `up 100% maxconn:${MOST}\n`
/** HAProxy's `drain` is not used: only `ready` ends it, and `ready` overrides what the operator has set by hand. */
export const DRAIN = 'up 0%\n'

export class Advice {
  #seen: { readonly atMs: number; readonly admitted: number; readonly shed: number } | undefined
  /** Requests admitted per second. */
  #rate = 0
  #sent: number | undefined
  /** When the service was last busy; before that, when it was first checked. */
  #busyAt: number | undefined
  /** True while HAProxy is limited. */
  holds = false

  /** @param figures undefined if no server listens */
  line(figures: Figures | undefined, nowMs: number): string {
    if (figures === undefined || figures.draining) return DRAIN
    const sheds = this.#look(figures, nowMs)
    if (figures.dryRun) return RELEASE
    const { abandoned, inflight, limit, limitKnown, open, queued, utilisation } = figures
    const room = Math.max(LEAST_ROOM, Math.round((this.#rate * ROOM_MS) / 1000))
    // The number counts as reached a little earlier, because some requests from HAProxy may not have been read yet.
    const isFull = this.#sent !== undefined && open >= this.#sent - room
    const isBusy = utilisation >= BUSY
    if (isBusy) this.#busyAt = nowMs
    this.#busyAt ??= nowMs
    const hasRested = nowMs - this.#busyAt >= REST_MS
    const waits = queued > 0 && (isFull || this.#sent === undefined)
    if (sheds || (isFull && isBusy) || (waits && limitKnown)) this.holds = true
    else if (hasRested) this.holds = false
    if (!this.holds) {
      const most = Math.min(MOST, Math.max(OPEN, 2 * open))
      if (hasRested && !waits) this.#sent = Math.min(2 * (this.#sent ?? most), most)
      return this.#line
    }
    // HAProxy does not count requests whose clients have left, so they are subtracted.
    const wanted = Math.max(0, inflight - abandoned)
    const flows = Math.max(0, open - queued - wanted)
    const uncounted = flows + room
    // A busy loop whose handlers never wait has no learned limit: the number falls until the loop has idle time.
    const free = limitKnown
      ? Math.max(1, limit - (inflight - wanted))
      : Math.max(1, Math.round(OVERLOAD_FACTOR * (this.#sent ?? START)) - uncounted)
    this.#sent = Math.min(MOST, free + uncounted)
    return this.#line
  }

  get #line(): string {
    return this.#sent === undefined ? 'up 100%\n' : `up 100% maxconn:${this.#sent}\n`
  }

  /** True if requests were shed for lack of capacity since the last check. */
  #look({ admitted, shed: shedFor }: Figures, nowMs: number): boolean {
    const shed = OVERLOAD.reduce((sum, reason) => sum + (shedFor[reason] ?? 0), 0)
    const before = this.#seen ?? { atMs: nowMs, admitted, shed }
    this.#seen = { atMs: nowMs, admitted, shed }
    const passedMs = Math.max(1, nowMs - before.atMs)
    // The difference may be negative: counters of several processes fall when one of them ends.
    const came = Math.max(0, admitted - before.admitted)
    this.#rate += ((came * 1000) / passedMs - this.#rate) * Math.min(1, passedMs / RATE_MS)
    return shed > before.shed
  }
}
