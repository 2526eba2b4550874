/**
 * Finds the kind of a request from its path, or from the name that the operator's `kind` returned. Clients can invent
 * both, so a path or a name becomes a kind only after it was seen often; a 404 sets the count back to zero. If a kind
 * gets more requests than in calm times, the additional ones count as unknown. Pure and bounded.
 */
import { type KindKey, PathHash } from './path-hash.ts'

export const UNKNOWN = 0
export const KINDS = 33

/** A path is counted at most once in this time, ms. */
const SIGHT_MS = 100
/** Sightings that make a path a kind, multiplied by PROMOTION_COST_GROWTH per known kind, up to MOST_SIGHTINGS. */
const SIGHTINGS = 4
const PROMOTION_COST_GROWTH = 1.3
const MOST_SIGHTINGS = 300
/** Slots for paths that may become kinds; a power of two. */
const CANDIDATES = 1024
const WINDOW_MS = 2000
/** A kind's usual rate is the mean of about this many calm windows, and is used after WINDOWS_TO_COUNT of them. */
const WINDOWS = 15
const WINDOWS_TO_COUNT = 3
/** In a window, a kind may have its usual number of requests times MAX_GROWTH, plus EXTRA_REQUESTS. */
const MAX_GROWTH = 1.5
const EXTRA_REQUESTS = 4
/** A kind without answers for this many windows is forgotten. */
const FORGOTTEN_AFTER = 15

export class KnownKinds {
  readonly #hash: PathHash
  readonly #kinds = new Map<number, number>()
  readonly #paths = new Int32Array(KINDS)
  readonly #isUnder = new Uint8Array(KINDS)
  readonly #found = new Uint8Array(KINDS)
  readonly #arrived = new Int32Array(KINDS)
  readonly #answered = new Int32Array(KINDS)
  readonly #usual = new Float64Array(KINDS)
  readonly #calmWindows = new Int32Array(KINDS)
  readonly #silentWindows = new Int32Array(KINDS)
  readonly #most = new Float64Array(KINDS).fill(Number.POSITIVE_INFINITY)
  #windowEndsAt = 0
  #calm = true
  #learntIn = Number.NaN
  /** True if kinds are known from calm times: then no path that first appears under overload becomes a kind. */
  #settled = false

  readonly #candidates = new Int32Array(CANDIDATES)
  readonly #sightings = new Int32Array(CANDIDATES)
  readonly #seenIn = new Int32Array(CANDIDATES)

  constructor(salt?: number) {
    this.#hash = new PathHash(salt)
  }

  get path(): number {
    return this.#hash.path
  }

  keyOf(name: string): number {
    return this.#hash.keyOf(name)
  }

  of(key: KindKey): number {
    const { path, under } = this.#hash.read(key)
    const kind = this.#kinds.get(path) ?? (under === 0 ? UNKNOWN : (this.#kinds.get(under) ?? UNKNOWN))
    return this.#arrived[kind]! < this.#most[kind]! ? kind : UNKNOWN
  }

  arrived(kind: number, nowMs: number): void {
    if (nowMs >= this.#windowEndsAt) this.#endWindow(nowMs)
    this.#arrived[kind]!++
    // A process that is flooded from its start answers few requests, so arrivals count as sightings.
    if (kind === UNKNOWN && !this.#settled) this.#seen(Math.floor(nowMs / SIGHT_MS))
  }

  /** Counts an answer. `standing`: the service is overloaded. `route`: the request's route, if it is known. */
  answered(kind: number, key: KindKey, nowMs: number, standing: boolean, route?: string): void {
    if (nowMs >= this.#windowEndsAt) this.#endWindow(nowMs)
    if (standing) this.#calm = false
    this.#answered[kind]!++
    this.#found[kind] = 1
    if ((kind !== UNKNOWN && this.#isUnder[kind] === 0) || (standing && this.#settled)) return
    const sight = Math.floor(nowMs / SIGHT_MS)
    if (typeof key === 'string' && typeof route === 'string' && this.#learntIn !== sight) {
      this.#learntIn = sight
      this.#hash.learn(key, route)
    }
    this.#hash.read(key)
    this.#seen(sight)
  }

  notFound(kind: number, key: KindKey): void {
    if (kind !== UNKNOWN) {
      if (this.#found[kind] === 0) this.#forget(kind)
      else this.#answered[kind]!++
      return
    }
    const { path, under } = this.#hash.read(key)
    for (const hash of [path, under]) {
      const place = hash & (CANDIDATES - 1)
      if (this.#candidates[place] === hash) this.#sightings[place] = 0
    }
  }

  #seen(sight: number): void {
    const { path, under } = this.#hash
    if (this.#kinds.has(path)) return
    this.#sight(path, sight, 0)
    if (under !== 0 && !this.#kinds.has(under)) this.#sight(under, sight, 1)
  }

  /** Finds frequent paths, after Misra and Gries (1982), with one slot per hash. */
  #sight(path: number, sight: number, isUnder: 0 | 1): void {
    const place = path & (CANDIDATES - 1)
    if (this.#seenIn[place] === sight) return
    this.#seenIn[place] = sight
    if (this.#candidates[place] === path) {
      this.#sightings[place]!++
      if (this.#sightings[place]! >= Math.min(MOST_SIGHTINGS, SIGHTINGS * PROMOTION_COST_GROWTH ** this.#kinds.size)) {
        this.#learn(place, isUnder)
      }
    } else if (this.#sightings[place]! > 0) this.#sightings[place]!--
    else {
      this.#candidates[place] = path
      this.#sightings[place] = 1
    }
  }

  #learn(place: number, isUnder: 0 | 1): void {
    const kind = this.#paths.indexOf(0, UNKNOWN + 1)
    if (kind < 0) return
    const path = this.#candidates[place]!
    this.#sightings[place] = 0
    this.#kinds.set(path, kind)
    this.#paths[kind] = path
    this.#isUnder[kind] = isUnder
    this.#found[kind] = 0
    this.#usual[kind] = 0
    this.#calmWindows[kind] = 0
    this.#silentWindows[kind] = 0
    this.#most[kind] = this.#settled ? EXTRA_REQUESTS : Number.POSITIVE_INFINITY
  }

  #forget(kind: number): void {
    this.#kinds.delete(this.#paths[kind]!)
    this.#paths[kind] = 0
  }

  #endWindow(nowMs: number): void {
    const windows = Math.floor((nowMs - this.#windowEndsAt) / WINDOW_MS) + 1
    this.#windowEndsAt += windows * WINDOW_MS
    this.#settled = false
    for (let kind = UNKNOWN + 1; kind < KINDS; kind++) if (this.#paths[kind] !== 0) this.#judge(kind, windows)
    this.#arrived.fill(0)
    this.#answered.fill(0)
    this.#calm = true
  }

  #judge(kind: number, windows: number): void {
    this.#silentWindows[kind] = this.#answered[kind] === 0 ? this.#silentWindows[kind]! + windows : 0
    if (this.#silentWindows[kind]! >= FORGOTTEN_AFTER) {
      this.#forget(kind)
      return
    }
    if (this.#calm) {
      const calm = Math.min(WINDOWS, this.#calmWindows[kind]! + 1)
      this.#calmWindows[kind] = calm
      this.#usual[kind]! += (this.#answered[kind]! - this.#usual[kind]!) / calm
    }
    if (this.#calmWindows[kind]! < WINDOWS_TO_COUNT) return
    this.#settled = true
    this.#most[kind] = EXTRA_REQUESTS + MAX_GROWTH * this.#usual[kind]!
  }
}
