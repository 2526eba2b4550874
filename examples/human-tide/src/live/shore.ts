/**
 * The walkers and where they are now: what the live page shows. Pure; told the time. Every position that comes in changes a number
 * here; what viewers get is made once a tick, for all of them, however many came in between.
 */
import type { Report } from '../positions/report.ts'

/** A walker that has not been heard of for this long leaves the picture, ms. */
const LEAVES_MS = 600_000
/** About 300 bytes each. The one silent for longest makes room. */
const MOST_WALKERS = 10_000

interface Walker {
  /** What the live page calls them: says nothing of their id, and is short. */
  readonly number: number
  name: string
  lat: number
  lon: number
  at: number
}

/** [number, lat, lon, age in ms, name]. */
type Drawn = readonly [number, number, number, number, string]

export interface Snapshot {
  readonly now: number
  readonly walkers: readonly Drawn[]
}

export interface Tick {
  readonly now: number
  /** Positions stored since the last tick. */
  readonly stored: number
  readonly moved: readonly Drawn[]
  /** Numbers of those who left. */
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
  /** In the order in which they were last heard of. */
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

  /** Only what is stored is told. Positions may come late and in any order: the latest one counts. */
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
    return { now, walkers: [...this.#walkers.values()].map(walker => drawn(walker, now)) }
  }

  /** What changed since the last tick. */
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
    const walker = known ?? { number: ++this.#numbers, name, lat, lon, at }
    Object.assign(walker, { name, lat, lon, at })
    this.#walkers.delete(id)
    this.#walkers.set(id, walker)
    this.#moved.add(walker)
    if (this.#walkers.size > this.#most) this.forget(this.#walkers.keys().next().value!)
  }
}

/** Six digits are 11 cm. */
const drawn = ({ number, lat, lon, at, name }: Walker, now: number): Drawn => [
  number,
  Math.round(lat * 1e6) / 1e6,
  Math.round(lon * 1e6) / 1e6,
  Math.max(0, now - at),
  name,
]
