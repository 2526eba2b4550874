/**
 * What HAProxy is told: how many requests the service takes at once (`maxconn`), and whether it takes new ones at all (the
 * weight). Pure: figures and the time in, a line out.
 *
 * A burst is no overload: the service queues it and sheds nobody, and HAProxy's short queue would not. So HAProxy is held to a
 * number only from the first sheds of an overload until fewer come than may. The number is the limit, and room for what the
 * limit does not count:
 *
 * - what flows: answers that stream without a permit, stragglers, exempt requests, upgraded connections;
 * - a short queue of our own. Without one the limit would never bind, and so never be found again, and the service would
 *   idle while HAProxy sends the next request.
 *
 * HAProxy keeps what it was told last, and its queue is invisible to us. As many open as may be, and nobody waits here: then
 * the number is what holds us, and goes.
 */
import type { GuardStats } from '../server/guard.ts'

export type Figures = Pick<
  GuardStats,
  'abandoned' | 'admitted' | 'draining' | 'dryRun' | 'inflight' | 'limit' | 'limitKnown' | 'open' | 'queued' | 'shed'
>

/**
 * What holds nobody, and still keeps a sudden flood off a loop that has to turn to speak: so many, twice what is open, and
 * what is served in a second.
 */
const RELEASED = 200
/** The limiter itself admits no more. */
const MOST = 10_000
/** So much work may wait here, ms: HAProxy takes a few ms to send the next, more on a busy core. The queue must not stand. */
const ROOM_MS = 30
const LEAST_ROOM = 4
/** The limit falls for up to a second while the limiter tries half of it. */
const PROBE_MS = 2000
/** Weight of a rate by its age, ms. */
const RATE_MS = 1000
/** How long it is remembered that as many came as might, ms. A service that is nearly full has as many in half of the looks. */
const PRESSED_MS = 5000
const PRESSED = 0.6
/** So many looks in a row without a change are no chance. */
const FLAT_LOOKS = 4
/** So many looks in a row at which more wait than there is room for are no burst, but a door that lets too many in. */
const LONG_LOOKS = 4
/** After so many looks at which nobody waited, what an operator has set for a start has served its purpose. */
const CALM_LOOKS = 10
/** What came in between two looks may hide so much of a flat top. */
const FLAT = 0.8
/** Sheds for want of capacity. */
const OVERLOAD: readonly (keyof GuardStats['shed'])[] = ['standing', 'stale', 'late', 'full']

export const RELEASE: string = `up 100% maxconn:${MOST}\n`
/** Not `drain`: only `ready` ends that, and `ready` also ends what the operator has set by hand. */
export const DRAIN = 'up 0%\n'

interface Seen {
  readonly atMs: number
  readonly admitted: number
  readonly shed: number
}

/** What has happened since the last look. */
interface Interval {
  readonly nowMs: number
  readonly passedMs: number
  readonly sheds: boolean
  readonly room: number
}

export class Advice {
  #seen: Seen | undefined
  /** Admitted a second. */
  #rate = 0
  /** The share of the looks at which as many were open as may be; undefined: HAProxy is not held to a number. */
  #pressed: number | undefined
  #limits: { readonly atMs: number; readonly limit: number }[] = []
  /** For all balancers together; undefined: nothing was ever said. */
  #base: number | undefined
  /** What one balancer gets of it: less when several send more than we can queue. */
  #share = 1
  /** In a row, at which more waited than there is room for. */
  #longLooks = 0
  /** In a row, before anything was said. */
  #calmLooks = 0
  /** Open requests at the last looks. */
  #tops: number[] = []

  /**
   * @param figures undefined: nothing listens
   * @param balancers that ask; each sends as many as it is told
   */
  line(figures: Figures | undefined, nowMs: number, balancers: number): string {
    if (figures === undefined || figures.draining) return DRAIN
    const interval = this.#intervalUntil(figures, nowMs)
    this.#judge(figures, interval, balancers)
    this.#base = this.#baseOf(figures, interval)
    return this.#told === undefined ? 'up 100%\n' : `up 100% maxconn:${this.#told}\n`
  }

  /** HAProxy is held to a number. */
  get holds(): boolean {
    return this.#pressed !== undefined
  }

  get #told(): number | undefined {
    return this.#base && Math.min(MOST, Math.ceil(this.#base * this.#share))
  }

  #intervalUntil(figures: Figures, nowMs: number): Interval {
    const { admitted } = figures
    const shed = OVERLOAD.reduce((sum, reason) => sum + (figures.shed[reason] ?? 0), 0)
    const before = this.#seen ?? { atMs: nowMs, admitted, shed }
    this.#seen = { atMs: nowMs, admitted, shed }
    const passedMs = Math.max(1, nowMs - before.atMs)
    // Counters of several processes fall when one of them ends.
    const came = Math.max(0, admitted - before.admitted)
    this.#rate += ((came * 1000) / passedMs - this.#rate) * Math.min(1, passedMs / RATE_MS)
    const room = Math.max(LEAST_ROOM, Math.round((this.#rate * ROOM_MS) / 1000))
    return { nowMs, passedMs, sheds: shed > before.shed, room }
  }

  /** Whether HAProxy is to be held to a number, and what each balancer gets of it. */
  #judge({ dryRun, limitKnown, open, queued }: Figures, { passedMs, room, sheds }: Interval, balancers: number): void {
    if (dryRun) return
    const isFull = open >= (this.#told ?? Number.POSITIVE_INFINITY) - room / 2
    if (sheds || queued > 2 * room) this.#share = Math.max(1 / balancers, this.#share / 2)
    // A burst would have been served meanwhile.
    this.#longLooks = queued > 2 * room ? this.#longLooks + 1 : 0
    if (sheds || (limitKnown && this.#longLooks >= LONG_LOOKS)) this.#pressed = 1
    else if (this.#pressed !== undefined) {
      const presses = isFull && queued > 0 ? 1 : 0
      this.#pressed += (presses - this.#pressed) * Math.min(1, passedMs / PRESSED_MS)
      const isHeld = isFull && queued === 0
      if (this.#pressed < PRESSED || (isHeld && this.#share === 1)) this.#pressed = undefined
      else if (isHeld) this.#share = Math.min(1, 2 * this.#share)
    }
  }

  #baseOf(figures: Figures, { sheds, nowMs, room }: Interval): number | undefined {
    const { abandoned, inflight, limit, limitKnown, open, queued } = figures
    if (this.#pressed === undefined) {
      this.#limits = []
      this.#share = 1
      return this.#released(figures)
    }
    this.#tops = []
    if (!limitKnown && !sheds) return this.#base
    // HAProxy counts no request whose client has left.
    const wanted = Math.max(0, inflight - abandoned)
    const flows = Math.max(0, open - queued - wanted)
    // Handlers that never wait are one at a time: their loop is overloaded, and no limit is ever found.
    const free = Math.max(1, (limitKnown ? limit : inflight) - (inflight - wanted))
    this.#limits = sheds ? [] : this.#limits.filter(({ atMs }) => nowMs - atMs < PROBE_MS)
    this.#limits.push({ atMs: nowMs, limit: free })
    return Math.max(...this.#limits.map(each => each.limit)) + flows + room
  }

  /** Twice the last number, so that an overload which is not over shows before it is a flood. */
  #released(figures: Figures): number | undefined {
    const { dryRun, open, queued } = figures
    const most = Math.max(RELEASED, 2 * open, Math.round(this.#rate))
    if (this.#base !== undefined) return Math.min(2 * this.#base, most)
    if (dryRun) return undefined
    this.#calmLooks = queued === 0 ? this.#calmLooks + 1 : 0
    if (this.#calmLooks >= CALM_LOOKS) return most
    return this.#isFlat(figures) ? Math.min(2 * open, most) : undefined
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
