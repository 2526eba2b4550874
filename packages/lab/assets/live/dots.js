/** The requests of the last ten seconds, each where it ended: time runs to the right, latency upwards. */
import { Surface } from './surface.js'

/** @typedef {import('./words.js').Fate} Fate */

const SHOWN_S = 10
/** In the order of drawing: the most important fate is on top. @type {readonly Fate[]} */
const FATES = ['refused', 'good', 'late', 'lost']
const COLOURS = { good: '--good', late: '--fair', refused: '--refused', lost: '--bad' }
const LEAST_MS = 1
const PAD = 6

export class Dots {
  /** @type {{ atS: number, fate: Fate, y: number, shift: number }[]} */
  #dots = []
  #now = 0
  #most = 2000
  #slo = 1000

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.surface = new Surface(canvas, () => this.draw())
  }

  /** @param {number} sloMs @param {number} timeoutMs */
  within(sloMs, timeoutMs) {
    this.#slo = sloMs
    this.#most = timeoutMs
  }

  /** @param {number} atS @param {[Fate, number][]} dots */
  add(atS, dots) {
    this.#now = atS
    for (const [fate, latencyMs] of dots) {
      // They ended somewhere in the tenth of a second before.
      this.#dots.push({ atS: atS - Math.random() / 10, fate, y: this.#place(latencyMs), shift: Math.random() })
    }
    this.#dots = this.#dots.filter(dot => dot.atS > atS - SHOWN_S)
  }

  /** Height, 0 to 1, on a logarithmic scale. @param {number} latencyMs */
  #place(latencyMs) {
    const share = Math.log(Math.max(LEAST_MS, latencyMs) / LEAST_MS) / Math.log(this.#most / LEAST_MS)
    return Math.min(1, share)
  }

  draw() {
    const { surface } = this
    const ink = surface.begin()
    if (ink === undefined) return
    const { width, height } = surface
    const isNarrow = width < 260
    const left = isNarrow ? 0 : 60
    const size = isNarrow ? 1.75 : 2.75
    // Leaves room above the dots that took the longest time.
    const top = PAD + 10
    const y = (/** @type {number} */ share) => height - PAD - share * (height - PAD - top)
    ink.textBaseline = 'middle'
    for (const [value, text] of /** @type {[number, string][]} */ ([
      [1, '1 ms'],
      [10, '10 ms'],
      [100, '100 ms'],
      [1000, '1 s'],
      [10_000, '10 s'],
    ])) {
      if (value > this.#most) continue
      const at = y(this.#place(value))
      ink.fillStyle = surface.colour('--grid')
      ink.fillRect(left, at, width - left, 1)
      ink.fillStyle = surface.colour('--soft')
      ink.textAlign = isNarrow ? 'left' : 'right'
      if (!isNarrow) ink.fillText(text, left - 8, value === 1 ? at - 5 : at)
    }
    const slo = y(this.#place(this.#slo))
    ink.strokeStyle = surface.colour('--fair')
    ink.lineWidth = 1.5
    ink.setLineDash([5, 4])
    ink.beginPath()
    ink.moveTo(left, slo)
    ink.lineTo(width, slo)
    ink.stroke()
    ink.setLineDash([])
    for (const fate of FATES) {
      const colour = surface.colour(COLOURS[fate])
      ink.fillStyle = colour
      ink.strokeStyle = colour
      ink.lineWidth = isNarrow ? 1 : 1.5
      ink.beginPath()
      for (const dot of this.#dots) {
        if (dot.fate !== fate) continue
        const x = width - size - ((this.#now - dot.atS) / SHOWN_S) * (width - left - 2 * size)
        if (x < left) continue
        // Those that were given up all took the same time: spread out, they can be counted.
        mark(ink, fate, x, fate === 'lost' ? y(dot.y) - dot.shift * 8 : y(dot.y), size)
      }
      if (fate === 'good') ink.fill()
      else ink.stroke()
    }
  }
}

/** Each has a shape of its own: nothing depends on colour alone. @param {CanvasRenderingContext2D} ink @param {Fate} fate @param {number} x @param {number} y @param {number} size */
function mark(ink, fate, x, y, size) {
  switch (fate) {
    case 'good':
    case 'late':
      ink.moveTo(x + size, y)
      ink.arc(x, y, size, 0, 2 * Math.PI)
      break
    case 'refused':
      ink.moveTo(x - size, y)
      ink.lineTo(x + size, y)
      break
    case 'lost':
      ink.moveTo(x - size, y - size)
      ink.lineTo(x + size, y + size)
      ink.moveTo(x - size, y + size)
      ink.lineTo(x + size, y - size)
  }
}
