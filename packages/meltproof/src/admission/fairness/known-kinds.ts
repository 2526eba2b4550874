/**
 * Which kind of request a path is. Paths are cheap to make up, so a path is a kind of its own only once it has been seen
 * again and again, and found; all others are one kind together. A path may also be known by the one it lies under, and what
 * a kind asks for beyond what it was answered in calm times counts as unknown. Pure, and bounded whatever comes.
 */
import { PathHash } from './path-hash.ts'

/** The kind of all that are not known. */
export const UNKNOWN = 0
/** Kinds told apart, with the unknown ones. */
export const KINDS = 33

/** A path is seen once in so long, however often it is asked, ms. */
const SIGHT_MS = 100
/** So many sightings make a kind of a path, where no other is known; */
const SIGHTINGS = 4
/** so many times as many for each kind that there is; */
const DEARER = 1.3
/** and never more than this. */
const MOST_SIGHTINGS = 300
/** Paths on their way to be known; a power of two. */
const CANDIDATES = 1024
/** What kinds are answered is counted over windows of this, ms. */
const WINDOW_MS = 2000
/** The usual is that of so many calm windows. */
const WINDOWS = 15
/** It counts after so many of them. */
const WINDOWS_TO_COUNT = 3
/** More than so many times the usual, and so many besides, are not of the kind any more, in a window. */
const GROWN = 1.5
const FEW = 4
/** A kind that nobody was answered of for so many windows is forgotten. */
const FORGOTTEN_AFTER = 15

export class KnownKinds {
  readonly #hash: PathHash
  readonly #kinds = new Map<number, number>()
  // Of each kind: its path, or 0 when it is free;
  readonly #paths = new Int32Array(KINDS)
  // whether it is what lies under a path, with any last segment;
  readonly #isUnder = new Uint8Array(KINDS)
  // whether one was answered, and not with 404;
  readonly #found = new Uint8Array(KINDS)
  readonly #came = new Int32Array(KINDS)
  readonly #answered = new Int32Array(KINDS)
  // answers in a calm window.
  readonly #usual = new Float64Array(KINDS)
  readonly #calmWindows = new Int32Array(KINDS)
  readonly #silentWindows = new Int32Array(KINDS)
  /** How many may come in this window. */
  readonly #most = new Float64Array(KINDS).fill(Number.POSITIVE_INFINITY)
  #windowEndsAt = 0
  #calm = true
  #learntIn = Number.NaN
  /** Some kinds are known from calm times: whatever comes with an overload is none of them. */
  #settled = false

  readonly #candidates = new Int32Array(CANDIDATES)
  readonly #sightings = new Int32Array(CANDIDATES)
  readonly #seenIn = new Int32Array(CANDIDATES)

  constructor(salt?: number) {
    this.#hash = new PathHash(salt)
  }

  /** The hash of the path that {@link of} was asked about last. */
  get path(): number {
    return this.#hash.path
  }

  /** The kind of a request that comes now. */
  of(url: string): number {
    const kind = this.#known(url)
    return this.#came[kind]! < this.#most[kind]! ? kind : UNKNOWN
  }

  /** The one that {@link of} was asked about last came while somebody waits, and is of this kind. */
  came(kind: number, nowMs: number): void {
    if (nowMs >= this.#windowEndsAt) this.#endWindow(nowMs)
    this.#came[kind]!++
    // In a process that is flooded from its start on, few are answered of whom few come.
    if (kind === UNKNOWN && !this.#settled) this.#seen(Math.floor(nowMs / SIGHT_MS))
  }

  /**
   * One that was of this kind when it came was answered. `standing`: the service is overloaded. `route`: what the framework
   * calls it, where it is known.
   */
  answered(kind: number, url: string, nowMs: number, standing: boolean, route?: string): void {
    if (nowMs >= this.#windowEndsAt) this.#endWindow(nowMs)
    if (standing) this.#calm = false
    this.#answered[kind]!++
    this.#found[kind] = 1
    if ((kind !== UNKNOWN && this.#isUnder[kind] === 0) || (standing && this.#settled)) return
    const sight = Math.floor(nowMs / SIGHT_MS)
    if (typeof route === 'string' && this.#learntIn !== sight) {
      this.#learntIn = sight
      this.#hash.learn(url, route)
    }
    this.#hash.read(url)
    this.#seen(sight)
  }

  /** One that was of this kind when it came was answered with 404: nothing is there, unless something was before. */
  notFound(kind: number, url: string): void {
    if (kind !== UNKNOWN) {
      if (this.#found[kind] === 0) this.#forget(kind)
      else this.#answered[kind]!++
      return
    }
    const { path, under } = this.#hash.read(url)
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

  #known(url: string): number {
    const { path, under } = this.#hash.read(url)
    return this.#kinds.get(path) ?? (under === 0 ? UNKNOWN : (this.#kinds.get(under) ?? UNKNOWN))
  }

  /** After Misra and Gries (1982), a place for each hash: who is seen more often than others stays. */
  #sight(path: number, sight: number, isUnder: 0 | 1): void {
    const place = path & (CANDIDATES - 1)
    if (this.#seenIn[place] === sight) return
    this.#seenIn[place] = sight
    if (this.#candidates[place] === path) {
      this.#sightings[place]!++
      if (this.#sightings[place]! >= Math.min(MOST_SIGHTINGS, SIGHTINGS * DEARER ** this.#kinds.size)) {
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
    this.#most[kind] = this.#settled ? FEW : Number.POSITIVE_INFINITY
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
    this.#came.fill(0)
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
    this.#most[kind] = FEW + GROWN * this.#usual[kind]!
  }
}
