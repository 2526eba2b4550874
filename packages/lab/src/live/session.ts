/** The state of a live run: current figures, the last minute, and the result of each load. Pure, and bounded. */
import { type Figures, figuresOf, windowOf } from './figures.ts'
import type { Tick } from './generator-messages.ts'
import type { Dot } from './side-counter.ts'
import { loadOf } from './steps.ts'

/** Good answers per second of each side. */
export type Point = readonly [atS: number, load: number, good: readonly number[]]
/** The settled result of a load: good answers per second of each side. */
export type CurvePoint = readonly [load: number, good: readonly number[]]

/** One message to the page. */
export interface LiveUpdate {
  readonly atS: number
  readonly load: number
  readonly sides: readonly (Figures & { readonly dots: readonly Dot[] })[]
  readonly points?: readonly Point[]
  readonly curve?: readonly CurvePoint[]
}

const TICKS_KEPT = 40
const POINT_EVERY_MS = 500
const MOST_POINTS = 120
/** The figures belong to a new load after this time: the window, and a moment in which a server may stall. */
const SETTLES_MS = 3000

export class Session {
  readonly #capacity: number
  readonly #stops: readonly number[]
  readonly #ended: (side: number) => boolean
  #load: number
  readonly #ticks: Tick[] = []
  readonly #points: Point[] = []
  readonly #curve = new Map<number, CurvePoint>()
  /** The load in each second; null if it changed during the second. */
  readonly #seconds: (number | null)[] = []
  #sinceMs = 0
  #pointAtMs = 0

  /** `ended` returns whether the process of a side has ended by itself. */
  constructor(capacity: number, stops: readonly number[], ended: (side: number) => boolean) {
    this.#capacity = capacity
    this.#stops = stops
    this.#ended = ended
    this.#load = stops[0]!
  }

  get load(): number {
    return this.#load
  }

  get rate(): number {
    return this.#load * this.#capacity
  }

  get loads(): readonly (number | null)[] {
    return this.#seconds
  }

  /** @throws RangeError for an invalid load */
  set(given: unknown): void {
    this.#load = loadOf(given, this.#stops)
  }

  /** Adds a tick, and returns the message for viewers. */
  add(tick: Tick): LiveUpdate {
    const offered = tick.rate / this.#capacity
    const before = this.#ticks.at(-1)
    this.#ticks.push(tick)
    if (this.#ticks.length > TICKS_KEPT) this.#ticks.shift()
    if (before !== undefined && before.rate !== tick.rate) this.#sinceMs = tick.atMs
    this.#noteSeconds(tick.atMs, offered, before?.rate === tick.rate || before === undefined)
    const told = this.#now(tick)
    if (tick.atMs - this.#pointAtMs < POINT_EVERY_MS) return told
    this.#pointAtMs = tick.atMs
    const good = told.sides.map(side => Math.round(side.good * 10) / 10)
    const point: Point = [told.atS, told.load, good]
    this.#points.push(point)
    if (this.#points.length > MOST_POINTS) this.#points.shift()
    if (tick.atMs - this.#sinceMs < SETTLES_MS) return { ...told, points: [point] }
    this.#curve.set(told.load, [told.load, good])
    return { ...told, points: [point], curve: this.#curveNow() }
  }

  /** The complete state for a new viewer; undefined before there is any. */
  everything(): LiveUpdate | undefined {
    const last = this.#ticks.at(-1)
    return last && { ...this.#now(last), points: this.#points, curve: this.#curveNow() }
  }

  #now(tick: Tick): LiveUpdate {
    const window = windowOf(this.#ticks)
    const sides = tick.sides.map(({ dots }, side) => {
      const counted = window.map(each => ({ lengthMs: each.lengthMs, counts: each.sides[side]! }))
      return { ...figuresOf(counted, this.#capacity, this.#ended(side)), dots }
    })
    return { atS: Math.round(tick.atMs / 10) / 100, load: loadOf(tick.rate / this.#capacity, this.#stops), sides }
  }

  /** A tick may be late and cover several seconds. */
  #noteSeconds(atMs: number, load: number, isSame: boolean): void {
    const stop = loadOf(load, this.#stops)
    const second = Math.floor(atMs / 1000)
    if (this.#seconds.length > second) {
      if (this.#seconds[second] !== stop) this.#seconds[second] = null
      return
    }
    // The end of the previous second belongs to this tick, too.
    if (!isSame && this.#seconds.length > 0) this.#seconds[this.#seconds.length - 1] = null
    while (this.#seconds.length < second) this.#seconds.push(isSame ? stop : null)
    this.#seconds.push(stop)
  }

  #curveNow(): readonly CurvePoint[] {
    return [...this.#curve.values()].sort(([one], [other]) => one - other)
  }
}
