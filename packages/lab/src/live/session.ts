/** The state of a live run: current figures, the last minute, and the result of each load. Pure, and bounded. */
import { sumOf } from '../load/added.ts'
import { CountedSeconds } from './counted-seconds.ts'
import { type Figures, figuresOf, windowOf } from './figures.ts'
import type { Tick } from './generator-process.ts'
import type { Dot } from './side-counter.ts'

/** Good answers per second of each side. */
export type Point = readonly [atS: number, load: number, good: readonly number[]]
/** The result of a load: good answers per second of each side; null while too few seconds count. */
export type CurvePoint = readonly [load: number, good: readonly (number | null)[]]

/** One message to the page. */
export interface LiveUpdate {
  readonly atS: number
  readonly load: number
  readonly sides: readonly (Figures & { readonly dots: readonly Dot[] })[]
  readonly points?: readonly Point[]
  readonly curve?: readonly CurvePoint[]
}

const LEAST_LOAD = 0.5
/** The slider's stops: close together where an app melts, and round numbers. */
const STOPS: readonly number[] = [
  ...[0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5],
  ...[4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20],
]
/** One generator core reliably sends this many requests per second to each of two services. */
const MOST_RATE = 20_000

const TICKS_KEPT = 40
const POINT_EVERY_MS = 500
const MOST_POINTS = 120

export class Session {
  load: number
  /** The load in each second; null if it changed during the second. */
  readonly loads: (number | null)[] = []
  readonly #capacity: number
  readonly #stops: readonly number[]
  readonly #ended: (side: number) => boolean
  readonly #ticks: Tick[] = []
  readonly #points: Point[] = []
  readonly #counted: readonly CountedSeconds[]
  #pointAtMs = 0

  /** `ended` returns whether the process of a side has ended by itself. */
  constructor(capacity: number, stops: readonly number[], ended: (side: number) => boolean) {
    this.#capacity = capacity
    this.#stops = stops
    this.#ended = ended
    this.#counted = [new CountedSeconds(capacity), new CountedSeconds(capacity)]
    this.load = stops[0]!
  }

  get rate(): number {
    return this.load * this.#capacity
  }

  /** @throws RangeError for an invalid load */
  set(given: unknown): void {
    this.load = loadOf(given, this.#stops)
  }

  /** Adds a tick, and returns the message for viewers. */
  add(tick: Tick): LiveUpdate {
    const offered = tick.rate / this.#capacity
    const before = this.#ticks.at(-1)
    this.#ticks.push(tick)
    if (this.#ticks.length > TICKS_KEPT) this.#ticks.shift()
    const running = Math.max(0, this.loads.length - 1)
    this.#noteSeconds(tick.atMs, offered, before?.rate === tick.rate || before === undefined)
    for (let second = running; second < this.loads.length - 1; second++) this.#count(second)
    const told = this.#now(tick)
    if (tick.atMs - this.#pointAtMs < POINT_EVERY_MS) return told
    this.#pointAtMs = tick.atMs
    const good = told.sides.map(side => Math.round(side.good * 10) / 10)
    const point: Point = [told.atS, told.load, good]
    this.#points.push(point)
    if (this.#points.length > MOST_POINTS) this.#points.shift()
    return { ...told, points: [point], curve: this.#curveNow() }
  }

  /** The highest goodput at any load. */
  get best(): number {
    return Math.max(0, ...this.#curveNow().flatMap(([, good]) => good.map(Number)))
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
      const instead = this.#ended(side) ? 'ended' : this.#counted[side]!.isRecovering ? 'recovers' : undefined
      return { ...figuresOf(counted, this.#capacity, instead), dots }
    })
    return { atS: Math.round(tick.atMs / 10) / 100, load: loadOf(tick.rate / this.#capacity, this.#stops), sides }
  }

  /** A tick may be late and cover several seconds. */
  #noteSeconds(atMs: number, load: number, isSame: boolean): void {
    const stop = loadOf(load, this.#stops)
    const second = Math.floor(atMs / 1000)
    if (this.loads.length > second) {
      if (this.loads[second] !== stop) this.loads[second] = null
      return
    }
    // This tick also covers the end of the previous second.
    if (!isSame && this.loads.length > 0) this.loads[this.loads.length - 1] = null
    while (this.loads.length < second) this.loads.push(isSame ? stop : null)
    this.loads.push(stop)
  }

  /** If a second has no tick, a later tick includes its requests, so that second counts for no load. */
  #count(second: number): void {
    const ticks = this.#ticks.filter(({ atMs }) => Math.floor(atMs / 1000) === second)
    const load = ticks.length === 0 ? null : (this.loads[second] ?? null)
    for (const [side, counted] of this.#counted.entries()) {
      const sum = (of: 'due' | 'good'): number => sumOf(ticks, ({ sides }) => sides[side]![of])
      counted.add(load, { scheduled: sum('due'), good: sum('good') })
    }
  }

  #curveNow(): readonly CurvePoint[] {
    return this.#stops.flatMap(load => {
      const good = this.#counted.map(counted => counted.goodAt(load))
      return good.every(each => each === null) ? [] : [[load, good] as const]
    })
  }
}

/** The stops that the generator can reach for this capacity; always at least the lowest. */
export const stopsFor = (capacity: number): readonly number[] =>
  STOPS.filter(stop => stop === LEAST_LOAD || stop * capacity <= MOST_RATE)

/** @throws RangeError for anything but a number from the lowest stop to the highest */
export function loadOf(given: unknown, stops: readonly number[]): number {
  const [least, most] = [stops[0]!, stops.at(-1)!]
  if (typeof given === 'number' && given >= least && given <= most) {
    // Figures are stored per load, so only a limited number of loads is possible.
    return stops.reduce((nearest, stop) => (Math.abs(stop - given) < Math.abs(nearest - given) ? stop : nearest))
  }
  throw new RangeError(`load must be a number from ${least} to ${most}, got ${JSON.stringify(given) ?? 'nothing'}`)
}
