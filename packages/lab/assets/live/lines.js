/** Two curves: the last minute of one side, and what each load came to on both. */
import { Surface } from './surface.js'
import { rate, times } from './words.js'

/** @typedef {import('./words.js').Point} Point @typedef {import('./words.js').CurvePoint} CurvePoint */

const MINUTE_S = 60
/** Above what the app can do, so that its line is not the edge. */
const HEADROOM = 1.25

/**
 * Where an axis ends: a side may give more than it was found to, when the other no longer uses the core.
 * @param {number} capacity @param {number[]} given
 */
const highest = (capacity, given) => Math.max(capacity * HEADROOM, ...given.map(good => good * 1.05))

/** Good answers a second of one side, and the line of what it can do. */
export class Minute {
  /** @type {[atS: number, good: number][]} */
  #points = []
  #capacity = 1

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.surface = new Surface(canvas, () => this.draw())
  }

  /** @param {number} capacity */
  within(capacity) {
    this.#capacity = capacity
  }

  clear() {
    this.#points = []
  }

  /** @param {number} atS @param {number} good */
  add(atS, good) {
    this.#points.push([atS, good])
    while (this.#points[0] !== undefined && this.#points[0][0] < atS - MINUTE_S) this.#points.shift()
  }

  draw() {
    const { surface } = this
    const ink = surface.begin()
    const last = this.#points.at(-1)
    if (ink === undefined) return
    const { width, height } = surface
    const most = highest(
      this.#capacity,
      this.#points.map(([, good]) => good),
    )
    const y = (/** @type {number} */ good) => height - 1 - (good / most) * (height - 3)
    ink.strokeStyle = surface.colour('--ideal')
    ink.setLineDash([2, 4])
    ink.lineWidth = 1.5
    ink.beginPath()
    ink.moveTo(0, y(this.#capacity))
    ink.lineTo(width, y(this.#capacity))
    ink.stroke()
    ink.setLineDash([])
    if (last === undefined) return
    const x = (/** @type {number} */ atS) => width - ((last[0] - atS) / MINUTE_S) * width
    const line = () => {
      for (const [atS, good] of this.#points) ink.lineTo(x(atS), y(good))
    }
    ink.fillStyle = surface.colour('--arm')
    ink.globalAlpha = 0.22
    ink.beginPath()
    ink.moveTo(x(this.#points[0]?.[0] ?? last[0]), height)
    line()
    ink.lineTo(width, height)
    ink.fill()
    ink.globalAlpha = 1
    ink.strokeStyle = surface.colour('--arm')
    ink.lineWidth = 2.5
    ink.lineJoin = 'round'
    ink.beginPath()
    line()
    ink.stroke()
  }
}

/** The result at each load, drawn while the user drags; the big marks show the present one. */
export class Curve {
  /** @type {CurvePoint[]} */
  #points = []
  /** @type {CurvePoint | undefined} */
  #now
  #capacity = 1
  /** @type {number[]} */
  #stops = [0.5, 20]

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.surface = new Surface(canvas, () => this.draw())
  }

  /** @param {number} capacity @param {number[]} stops */
  within(capacity, stops) {
    this.#capacity = capacity
    this.#stops = stops
  }

  /** @param {CurvePoint} now @param {CurvePoint[] | undefined} points */
  set(now, points) {
    this.#now = now
    if (points !== undefined) this.#points = points
  }

  draw() {
    const { surface } = this
    const ink = surface.begin()
    if (ink === undefined) return
    const { width, height } = surface
    const [left, right, top, bottom] = [52, 12, 8, 24]
    const [least, most] = [this.#stops[0] ?? 0.5, this.#stops.at(-1) ?? 20]
    const span = Math.log(Math.max(most, least * 1.01) / least)
    const x = (/** @type {number} */ load) => left + (Math.log(load / least) / span) * (width - left - right)
    const shown = this.#now === undefined ? this.#points : [...this.#points, this.#now]
    const high = highest(
      this.#capacity,
      shown.flatMap(([, good]) => good.map(each => each ?? 0)),
    )
    const y = (/** @type {number} */ good) => height - bottom - (good / high) * (height - bottom - top)
    ink.fillStyle = surface.colour('--soft')
    ink.textBaseline = 'middle'
    ink.textAlign = 'right'
    ink.fillText(rate(this.#capacity), left - 8, y(this.#capacity))
    ink.fillText('0', left - 8, y(0))
    ink.textBaseline = 'alphabetic'
    ink.textAlign = 'center'
    for (const load of [0.5, 1, 2, 5, 10, 20]) {
      if (load > most) continue
      ink.fillStyle = surface.colour('--grid')
      ink.fillRect(x(load), top, 1, height - top - bottom)
      ink.fillStyle = surface.colour('--soft')
      ink.fillText(times(load), Math.min(x(load), width - 14), height - 6)
    }
    ink.fillStyle = surface.colour('--grid')
    ink.fillRect(left, y(0), width - left - right, 1)
    // The ideal: all of the load, and from the capacity on the capacity.
    ink.strokeStyle = surface.colour('--ideal')
    ink.lineWidth = 1.5
    ink.setLineDash([2, 4])
    ink.beginPath()
    for (let load = least; load < 1; load += 0.02) ink.lineTo(x(load), y(load * this.#capacity))
    ink.lineTo(x(1), y(this.#capacity))
    if (most > 1) ink.lineTo(x(most), y(this.#capacity))
    ink.stroke()
    ink.setLineDash([])
    for (const side of [0, 1]) this.#drawSide(ink, side, x, y)
  }

  /** @param {CanvasRenderingContext2D} ink @param {number} side @param {(load: number) => number} x @param {(good: number) => number} y */
  #drawSide(ink, side, x, y) {
    ink.strokeStyle = ink.fillStyle = this.surface.colour(side === 0 ? '--bare' : '--protected')
    ink.lineWidth = 2.5
    ink.lineJoin = 'round'
    // A load that was too short to judge for a side has no point of it.
    const known = this.#points.filter(([, good]) => typeof good[side] === 'number')
    ink.beginPath()
    for (const [load, good] of known) ink.lineTo(x(load), y(good[side] ?? 0))
    ink.stroke()
    for (const [load, good] of known) disc(ink, side, x(load), y(good[side] ?? 0), 3)
    if (this.#now !== undefined) disc(ink, side, x(this.#now[0]), y(this.#now[1][side] ?? 0), 7)
  }
}

/** Bare is a square, as in the reports. @param {CanvasRenderingContext2D} ink @param {number} side @param {number} x @param {number} y @param {number} size */
function disc(ink, side, x, y, size) {
  if (side === 0) {
    ink.fillRect(x - size, y - size, 2 * size, 2 * size)
    return
  }
  ink.beginPath()
  ink.arc(x, y, size, 0, 2 * Math.PI)
  ink.fill()
}
