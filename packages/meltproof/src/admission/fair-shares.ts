/**
 * Max-min fairness between kinds of requests while there is not enough for all: a kind that asks for less than an equal
 * share of the permits gets all it asks for, and the others share what is left. So a flood of heavy requests does not
 * take the cheap ones down with it, and nobody had to say which is which. (Bertsekas and Gallager, Data Networks, 1992;
 * by hashed kinds as in stochastic fairness queueing, McKenney 1990.) Pure.
 *
 * What a kind asks for is how many permits it would hold if nobody were shed: arrivals times mean time in service.
 */

/** Kinds told apart; who hashes to the same one shares its fate. */
export const KINDS = 256
/** Demand is counted over windows of this, ms. */
const WINDOW_MS = 200
/** Weight of the last window in what is known. */
const WEIGHT = 0.5
/** Weight of one more service time in the mean. */
const SERVICE_WEIGHT = 0.1
/** Share of the limit that is dealt out: demand is an estimate. */
const DEALT = 0.9
/** A kind that fits comes first up to so many times what it asks for in a window, and so many besides. */
const BURST = 1.5
const FEW = 4
const NOBODY = -1

export class FairShares {
  readonly #arrivals = new Float64Array(KINDS)
  /** Arrivals per ms. */
  readonly #rates = new Float64Array(KINDS)
  /** Mean time in service, ms; 0: not known yet. */
  readonly #serviceMs = new Float64Array(KINDS)
  /** How many of a kind may come first until the next draw: what it usually asks for, and some. */
  readonly #granted = new Float64Array(KINDS)
  #meanServiceMs = 0
  #since = Number.NaN
  #drawn = false

  constructor() {
    this.#granted.fill(NOBODY)
  }

  /** A request of this kind came while others wait. */
  arrived(kind: number, nowMs: number, limit: number): void {
    this.#arrivals[kind]!++
    if (Number.isNaN(this.#since)) this.#since = nowMs
    else if (nowMs - this.#since >= WINDOW_MS) this.#draw(nowMs, limit)
  }

  /** One was answered after so long in service. */
  served(kind: number, serviceMs: number): void {
    const mean = this.#serviceMs[kind]!
    this.#serviceMs[kind] = mean === 0 ? serviceMs : mean + (serviceMs - mean) * SERVICE_WEIGHT
    this.#meanServiceMs += (serviceMs - this.#meanServiceMs) * (this.#meanServiceMs === 0 ? 1 : SERVICE_WEIGHT / 4)
  }

  /**
   * True when all of this kind can be had, whatever the others ask for. False before anything is known, and for a kind
   * of which suddenly far more come than did: whoever floods one small kind after another must not come first.
   */
  within(kind: number): boolean {
    return this.#arrivals[kind]! <= this.#granted[kind]!
  }

  /** A queue begins: what was asked for before is another traffic's. */
  open(nowMs: number): void {
    this.#arrivals.fill(0)
    this.#granted.fill(NOBODY)
    this.#since = nowMs
    this.#drawn = false
  }

  #draw(nowMs: number, limit: number): void {
    const elapsedMs = nowMs - this.#since
    this.#since = nowMs
    const asking: { kind: number; permits: number }[] = []
    for (let kind = 0; kind < KINDS; kind++) {
      const rate = this.#arrivals[kind]! / elapsedMs
      this.#arrivals[kind] = 0
      const before = this.#rates[kind]!
      this.#rates[kind] = this.#drawn ? before + (rate - before) * WEIGHT : rate
      this.#granted[kind] = NOBODY
      const serviceMs = this.#serviceMs[kind]! || this.#meanServiceMs
      if (this.#rates[kind]! * elapsedMs > 0.01) asking.push({ kind, permits: this.#rates[kind]! * serviceMs })
      else this.#rates[kind] = 0
    }
    this.#drawn = true
    asking.sort((a, b) => a.permits - b.permits)
    let left = DEALT * limit
    for (const [i, { kind, permits }] of asking.entries()) {
      // Somebody must be asked to do with less, or there would be no queue.
      if (permits > left / (asking.length - i) || i === asking.length - 1) return
      this.#granted[kind] = FEW + BURST * this.#rates[kind]! * WINDOW_MS
      left -= permits
    }
  }
}

/**
 * The kind of a request by its path: 0 to {@link KINDS} - 1. Segments with a digit in them are taken for ids, so that
 * `/users/7` and `/users/8` are of one kind. Looks at no more than the first {@link LONGEST} characters.
 */
export function kindOf(url: string, salt: number = SALT): number {
  let hash = salt
  let segment = 0
  let isId = false
  const length = Math.min(url.length, LONGEST)
  for (let i = 0; i < length; i++) {
    const code = url.charCodeAt(i)
    if (code === QUESTION_MARK) break
    if (code === SLASH) {
      hash = mix(hash, isId ? 1 : segment)
      segment = 0
      isId = false
    } else {
      if (code >= ZERO && code <= NINE) isId = true
      segment = (Math.imul(segment, 31) + code) | 0
    }
  }
  hash = mix(hash, isId ? 1 : segment)
  return ((hash ^ (hash >>> 15)) >>> 0) % KINDS
}

const LONGEST = 128
/** Another one in each process, so that nobody outside knows which paths are of one kind. */
const SALT = (Math.random() * 2 ** 32) | 0
const SLASH = 47
const QUESTION_MARK = 63
const ZERO = 48
const NINE = 57

function mix(hash: number, segment: number): number {
  const mixed = Math.imul(hash ^ segment, 0x9e3779b1)
  return mixed ^ (mixed >>> 13)
}
