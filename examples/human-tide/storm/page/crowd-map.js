/** Draws one shore of the storm: each phone at its last stored position. It draws once per state of the server. */
import { Sea } from '/sea.js'
import { View } from '/view.js'

/** Ages in tenths of a second: up to FRESH a phone is bright, then it fades, and from EMBER on it is an ember. */
const FRESH = 15
const EMBER = 60
const STEPS = 8
/**
 * Maximum number of phones that are drawn as discs, the fresh ones with a halo; larger crowds are drawn as rectangles.
 */
const FEW = 1000
/** From fresh to ember. */
const COLOURS = Array.from({ length: STEPS + 1 }, (_, step) => {
  const part = step / STEPS
  const mix = (/** @type {number} */ from, /** @type {number} */ to) => Math.round(from + (to - from) * part)
  return `rgb(${mix(255, 150)} ${mix(214, 52)} ${mix(121, 40)})`
})

export class CrowdMap {
  phones = 0
  /** Number of phones whose last stored position is fresh. */
  fresh = 0
  #view = new View()
  #sea
  #beach

  /** @param {HTMLCanvasElement} canvas @param {any} shoreline @param {import('./phone.js').Beach} beach */
  constructor(canvas, shoreline, beach) {
    this.canvas = canvas
    this.#beach = beach
    this.#sea = new Sea(canvas, this.#view)
    this.#sea.setShoreline(shoreline)
    new ResizeObserver(() => {
      this.#sea.resize()
      this.#view.fit(beach.places)
    }).observe(canvas)
  }

  /** @param {string} ages one byte per phone, in base64 (load.ts) @param {number} now */
  draw(ages, now) {
    const told = Uint8Array.from(atob(ages), letter => letter.charCodeAt(0))
    this.phones = told.length
    this.fresh = told.filter(age => age <= FRESH).length
    // The waves stand still: moving ones would need more frames than the server sends states.
    this.#sea.draw([], { now, wave: 0 })
    const ink = this.canvas.getContext('2d', { alpha: false })
    if (ink === null) return
    const size = Math.min(3.5, Math.max(1.3, 26 / Math.sqrt(told.length + 1)))
    /** @type {[number, number][][]} */
    const groups = COLOURS.map(() => [])
    told.forEach((age, phone) => {
      // No position was stored in the last 25.5 s, or none at all (load.ts).
      if (age === 255) return
      const { lat, lon } = this.#beach.at(phone, now - age * 100)
      groups[stepOf(age)]?.push(this.#view.toScreen(lat, lon))
    })
    // The oldest are drawn first, so that fresh ones lie on top.
    for (let step = STEPS; step >= 0; step--) {
      ink.fillStyle = COLOURS[step] ?? '#fff'
      const isFew = told.length <= FEW
      for (const [x, y] of groups[step] ?? []) {
        // A rectangle costs a tenth of a circle, and in a crowd the two look the same.
        if (!isFew) {
          ink.fillRect(x - size, y - size, 2 * size, 2 * size)
          continue
        }
        if (step === 0) {
          ink.globalAlpha = 0.18
          disc(ink, x, y, size * 2.4)
          ink.globalAlpha = 1
        }
        disc(ink, x, y, size)
      }
    }
  }
}

/** @param {number} age tenths of a second */
const stepOf = age => Math.round(Math.min(1, Math.max(0, (age - FRESH) / (EMBER - FRESH))) * STEPS)

/** @param {CanvasRenderingContext2D} ink @param {number} x @param {number} y @param {number} radius */
function disc(ink, x, y, radius) {
  ink.beginPath()
  ink.arc(x, y, radius, 0, 2 * Math.PI)
  ink.fill()
}
