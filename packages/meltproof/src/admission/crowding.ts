/**
 * Whether those in service wait for each other: then service takes in proportion to how many were there before. That
 * shows while their number grows for the first time, long before a throughput could be measured where each takes a
 * second. Among strangers who merely take long it does not show; and where service became slower for another reason,
 * those who came while few were there are as slow as the others. Pure.
 */
export class Crowding {
  /** When they came lately, and how many were in service then, themselves included; a ring. */
  readonly #at = new Float64Array(REMEMBERED)
  readonly #beside = new Uint16Array(REMEMBERED)
  #came = 0
  /** Of those who left lately: how many they were when they came, and what service took; a ring. */
  readonly #among = new Float64Array(COMPARED)
  readonly #service = new Float64Array(COMPARED)
  #left = 0

  clear(): void {
    this.#came = 0
    this.#left = 0
  }

  admitted(nowMs: number, inflight: number): void {
    this.#at[this.#came % REMEMBERED] = nowMs
    this.#beside[this.#came % REMEMBERED] = Math.min(inflight, MOST)
    // Never far beyond the ring: a process may run for years.
    if (++this.#came === 2 * REMEMBERED) this.#came = REMEMBERED
  }

  completed(startedMs: number, serviceMs: number): void {
    const beside = this.#besideAt(startedMs)
    if (beside === 0) return
    this.#among[this.#left % COMPARED] = beside
    this.#service[this.#left % COMPARED] = serviceMs
    if (++this.#left === 2 * COMPARED) this.#left = COMPARED
  }

  /**
   * How many may be in service before they begin to wait for each other; undefined when nothing says that they do.
   * `slower`: at least this share of what their number rose by must be found in their service times.
   */
  knee(slower: number): number | undefined {
    const length = Math.min(this.#left, COMPARED)
    if (length < LEAST) return undefined
    let most = 0
    for (let i = 0; i < length; i++) most = Math.max(most, this.#among[i]!)
    // The line through those who came among many, by least squares.
    let count = 0
    let [n, s, nn, ns, ss] = [0, 0, 0, 0, 0]
    for (let i = 0; i < length; i++) {
      const among = this.#among[i]!
      const service = this.#service[i]!
      if (among * RANGE < most) continue
      count++
      n += among
      s += service
      nn += among * among
      ns += among * service
      ss += service * service
    }
    const spread = nn - (n * n) / count
    if (count < LEAST || spread <= 0) return undefined
    const eachMs = (ns - (n * s) / count) / spread
    // What service rises by, as a share of what their number does. Who waits for the others waits no longer than they
    // are more; and it is their number that explains it, or it is something else that has become slow.
    const rises = (eachMs * n) / s
    const explained = (eachMs * eachMs * spread) / (ss - (s * s) / count)
    if (rises < slower || rises > AT_MOST || explained < EXPLAINED) return undefined
    // Nobody who came among many was quick, or these did not wait.
    for (let i = 0; i < length; i++) {
      const among = this.#among[i]!
      if (2 * among >= most && this.#service[i]! < QUICK * (s / count + eachMs * (among - n / count))) return undefined
    }
    const knee = this.#aloneMs() / eachMs
    return knee >= LEAST_KNEE && knee < most ? knee : undefined
  }

  /** What service takes those who come among the fewest, ms. */
  #aloneMs(): number {
    const order = Array.from({ length: Math.min(this.#left, COMPARED) }, (_, i) => i)
    order.sort((a, b) => this.#among[a]! - this.#among[b]!)
    let sum = 0
    for (let i = 0; i < FEWEST; i++) sum += this.#service[order[i]!]!
    return sum / FEWEST
  }

  /** How many there were when somebody came; 0 when that is forgotten. */
  #besideAt(startedMs: number): number {
    let from = Math.max(0, this.#came - REMEMBERED)
    let to = this.#came
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#at[middle % REMEMBERED]! <= startedMs) from = middle + 1
      else to = middle
    }
    const last = (from - 1) % REMEMBERED
    return from > 0 && startedMs - this.#at[last]! <= SAME_MS ? this.#beside[last]! : 0
  }
}

/** So many who came are remembered. */
const REMEMBERED = 1024
/** So many who left are compared. */
const COMPARED = 64
/** No fewer are. */
const LEAST = 8
/** Who came among less than the most there were, by this factor, may not have waited for anybody. */
const RANGE = 4
const FEWEST = 3
/** A lower knee there is not: those who came among the fewest were of another sort. */
const LEAST_KNEE = 0.7
const MOST = 2 ** 16 - 1
/** Service times may rise by so much more than the number there was. */
const AT_MOST = 1.3
/** Less than this share of what their number makes expect is quick. */
const QUICK = 0.3
/** Share of the variance of service times that their number must explain. */
const EXPLAINED = 0.7
/** Service begins no later than this after the permit was given, ms. */
const SAME_MS = 5
