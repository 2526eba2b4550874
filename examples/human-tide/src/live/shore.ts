/**
 * The walkers and their current places, for the live page. Pure: the time is passed in. A position only updates its
 * walker here; the message for all viewers is made once a tick, however many positions arrived since the last one.
 */
import type { Report } from '../positions/report.ts'

/** A walker that has been silent for this long leaves the shore, ms. */
const LEAVES_MS = 600_000
/** A walker that has been silent for this long does not count as walking, ms. */
const SILENT_MS = 15_000
/** Number of earlier places of each walker, so that a page that has just opened shows trails. */
const TRAIL = 20
/** Minimum distance between two places of a trail, degrees (about 8 m). */
const APART = 8e-5
/** With more walkers, a snapshot has no trails: it would be megabytes for every page that opens. */
const MOST_WITH_TRAILS = 100
/** Maximum number of walkers, about 1 KB each. The walker that has been silent for longest is removed first. */
const MOST_WALKERS = 10_000

interface Walker {
  /** Identifies the walker on the live page: short, and reveals nothing of the id. */
  readonly number: number
  name: string
  lat: number
  lon: number
  at: number
  /** Latitude, longitude, latitude, ..., the oldest first. */
  readonly trail: number[]
}

/** [number, lat, lon, age in ms, name, and in a snapshot the trail as latitude, longitude, ...]. */
type Drawn = readonly [number, number, number, number, string, (readonly number[])?]

export interface Snapshot {
  readonly now: number
  readonly walkers: readonly Drawn[]
}

export interface Tick {
  readonly now: number
  /** Positions stored since the last tick. */
  readonly stored: number
  readonly moved: readonly Drawn[]
  /** Numbers of the walkers that left. */
  readonly left: readonly number[]
}

export interface Known {
  readonly walker: string
  readonly name: string
  readonly at: number
  readonly lat: number
  readonly lon: number
}

export class Shore {
  /** By id, in the order in which their last positions arrived. */
  readonly #walkers = new Map<string, Walker>()
  readonly #most: number
  #moved = new Set<Walker>()
  #left: number[] = []
  #stored = 0
  #numbers = 0

  constructor(most: number = MOST_WALKERS) {
    this.#most = most
  }

  get size(): number {
    return this.#walkers.size
  }

  /** Number of walkers that are not silent. */
  walking(now: number): number {
    return [...this.#walkers.values()].filter(({ at }) => now - at < SILENT_MS).length
  }

  /** Takes only stored positions. They may arrive late and in any order; the latest one counts. */
  move(id: string, { name, positions }: Report, now: number): void {
    this.#stored += positions.length
    const last = positions.reduce((latest, position) => (position.at > latest.at ? position : latest))
    this.#place({ walker: id, name, ...last }, now)
  }

  restore(known: readonly Known[], now: number): void {
    for (const each of known) if (!this.#walkers.has(each.walker)) this.#place(each, now)
  }

  forget(id: string): void {
    const walker = this.#walkers.get(id)
    if (walker === undefined) return
    this.#walkers.delete(id)
    this.#moved.delete(walker)
    this.#left.push(walker.number)
  }

  snapshot(now: number): Snapshot {
    const withTrail = (walker: Walker): Drawn => [...drawn(walker, now), walker.trail]
    const draw = this.size <= MOST_WITH_TRAILS ? withTrail : (walker: Walker) => drawn(walker, now)
    return { now, walkers: [...this.#walkers.values()].map(draw) }
  }

  /** Returns the changes since the last tick. */
  tick(now: number): Tick {
    for (const [id, walker] of this.#walkers) {
      if (now - walker.at < LEAVES_MS) break
      this.forget(id)
    }
    const tick = { now, stored: this.#stored, moved: [...this.#moved].map(each => drawn(each, now)), left: this.#left }
    this.#moved = new Set()
    this.#left = []
    this.#stored = 0
    return tick
  }

  #place({ walker: id, name, at, lat, lon }: Known, now: number): void {
    const known = this.#walkers.get(id)
    if (now - at >= LEAVES_MS || (known !== undefined && at < known.at)) return
    const walker = known ?? { number: ++this.#numbers, name, lat, lon, at, trail: [] }
    Object.assign(walker, { name, lat, lon, at })
    extend(walker)
    this.#walkers.delete(id)
    this.#walkers.set(id, walker)
    this.#moved.add(walker)
    if (this.#walkers.size > this.#most) this.forget(this.#walkers.keys().next().value!)
  }
}

function extend({ trail, lat, lon }: Walker): void {
  const [lastLat, lastLon] = trail.slice(-2)
  if (lastLat !== undefined && Math.abs(lastLat - lat) + Math.abs(lastLon! - lon) < APART) return
  trail.push(rounded(lat), rounded(lon))
  if (trail.length > 2 * TRAIL) trail.splice(0, 2)
}

/** Six digits are 11 cm. */
const rounded = (degrees: number): number => Math.round(degrees * 1e6) / 1e6

const drawn = ({ number, lat, lon, at, name }: Walker, now: number) =>
  [number, rounded(lat), rounded(lon), Math.max(0, now - at), name] as const satisfies Drawn
