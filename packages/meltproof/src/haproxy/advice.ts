/**
 * What HAProxy is told: how many requests the service takes at once (`maxconn`), and whether it takes new ones at all (the
 * weight). Pure: figures and the time in, a line out.
 *
 * The number is the limit, and room for what the limit does not count:
 *
 * - what flows: answers that stream without a permit, stragglers, exempt requests, upgraded connections;
 * - a short queue of our own. Without one the limit would never bind, and so never be found again, and the service would
 *   idle while HAProxy sends the next request.
 *
 * HAProxy keeps what it was told last, and its queue is invisible to us. So the service must never be held by an old number:
 * nothing is said until the limit is known, and the number rises whenever as many are open as were allowed while nobody
 * waits here.
 */
import type { GuardStats } from '../server/guard.ts'

export type Figures = Pick<
  GuardStats,
  'abandoned' | 'admitted' | 'draining' | 'dryRun' | 'inflight' | 'limit' | 'limitKnown' | 'open' | 'queued' | 'shed'
>

/** Holds nothing: the limiter itself admits no more. */
const RELEASED = 10_000
/** So much work may wait here, ms: HAProxy takes a few ms to send the next, more on a busy core. The queue must not stand. */
const ROOM_MS = 30
const LEAST_ROOM = 4
/** The limit falls for up to a second while the limiter tries half of it. */
const PROBE_MS = 2000
/** Weight of a rate by its age, ms. */
const RATE_MS = 1000
/** So many looks in a row without a change are no chance. */
const FLAT_LOOKS = 4
/** What came in between two looks may hide so much of a flat top. */
const FLAT = 0.8

export const RELEASE: string = `up 100% maxconn:${RELEASED}\n`
/** Not `drain`: only `ready` ends that, and `ready` also ends what the operator has set by hand. */
export const DRAIN = 'up 0%\n'

interface Seen {
  readonly atMs: number
  readonly admitted: number
  readonly shed: number
}

interface Interval {
  readonly nowMs: number
  readonly came: number
  readonly sheds: boolean
  readonly room: number
}

export class Advice {
  #seen: Seen | undefined
  /** Admitted a second. */
  #rate = 0
  #limits: { readonly atMs: number; readonly limit: number }[] = []
  /** For all balancers together, while none of them presses. */
  #base: number | undefined
  /** What one balancer gets of it: more when we are held, less when several send more than we can queue. */
  #share = 1
  /** What each was told last. */
  #told: number | undefined
  /** Open requests at the last looks. */
  #tops: number[] = []

  /**
   * @param figures undefined: nothing listens
   * @param balancers that ask; each sends as many as it is told
   */
  line(figures: Figures | undefined, nowMs: number, balancers: number): string {
    if (figures === undefined || figures.draining) return DRAIN
    this.#look(figures, nowMs, balancers)
    return this.#told === undefined ? 'up 100%\n' : `up 100% maxconn:${this.#told}\n`
  }

  #look(figures: Figures, nowMs: number, balancers: number): void {
    const { admitted, queued } = figures
    const shed = Object.values(figures.shed).reduce((sum, count) => sum + count, 0)
    const before = this.#seen
    this.#seen = { atMs: nowMs, admitted, shed }
    const passedMs = Math.max(1, nowMs - (before?.atMs ?? nowMs))
    // A counter of several processes falls when one of them ends.
    const came = Math.max(0, admitted - (before?.admitted ?? admitted))
    this.#rate += ((came * 1000) / passedMs - this.#rate) * Math.min(1, passedMs / RATE_MS)
    const room = Math.max(LEAST_ROOM, Math.round((this.#rate * ROOM_MS) / 1000))
    const sheds = shed - (before?.shed ?? shed) > 0
    if (sheds || queued > 2 * room) this.#share = this.#share > 1 ? 1 : Math.max(1 / balancers, this.#share / 2)
    else if (this.#isHeld(figures, room)) this.#share *= 2
    this.#base = this.#baseOf(figures, { came, sheds, nowMs, room })
    if (this.#base !== undefined) this.#told = Math.min(RELEASED, Math.ceil(this.#base * this.#share))
  }

  /** As many are open as one balancer may send, and nobody waits for us. */
  #isHeld({ open, queued }: Figures, room: number): boolean {
    return this.#told !== undefined && this.#told < RELEASED && queued === 0 && open >= this.#told - room / 2
  }

  #baseOf(figures: Figures, { came, sheds, nowMs, room }: Interval): number | undefined {
    const { abandoned, dryRun, inflight, limit, limitKnown, open, queued } = figures
    // HAProxy counts no request whose client has left.
    const wanted = Math.max(0, inflight - abandoned)
    const flows = Math.max(0, open - queued - wanted)
    // In a dry run nobody is held up.
    if (dryRun || !(limitKnown || sheds)) {
      this.#limits = []
      // Nothing is admitted any more by a guard that has stepped aside.
      const released = this.#base === undefined ? this.#isFlat(figures) : came === 0
      return released ? RELEASED : this.#base
    }
    this.#tops = []
    // Handlers that never wait are one at a time: their loop is overloaded, and no limit is ever found.
    const free = Math.max(1, (limitKnown ? limit : inflight) - (inflight - wanted))
    this.#limits = sheds ? [] : this.#limits.filter(({ atMs }) => nowMs - atMs < PROBE_MS)
    this.#limits.push({ atMs: nowMs, limit: free })
    return Math.max(...this.#limits.map(each => each.limit)) + flows + room
  }

  /**
   * The number of open requests stands, and nobody waits for us: something holds us. HAProxy has told nothing of it, so it may
   * be what our predecessor said.
   */
  #isFlat({ open, queued }: Figures): boolean {
    if (queued > 0) this.#tops = []
    else this.#tops = [...this.#tops, open].slice(-FLAT_LOOKS)
    const most = Math.max(0, ...this.#tops)
    return this.#tops.length === FLAT_LOOKS && most >= LEAST_ROOM && Math.min(...this.#tops) >= FLAT * most
  }
}
