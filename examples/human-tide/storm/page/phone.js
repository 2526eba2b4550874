/**
 * The phones of the storm: where each is at a moment, and when it sends. Pure; the load and the page both go by it, so that
 * the page needs to be told no positions.
 */

/** Every phone sends once a second. */
export const EVERY_MS = 1000
/** Metres a second. */
const PACE = 1.2
const METRES = 111_320
/** The golden ratio's part after the point: its multiples lie evenly, however many there are. */
const EVEN = 0.618033988749895

/** @typedef {{ lat: number, lon: number }} Place */

/** When in its second a phone sends, 0 to 1. @param {number} phone */
export const phaseOf = phone => (phone * EVEN) % 1

export class Beach {
  /** @type {readonly (readonly [number, number])[]} longitude, latitude */
  #line
  /** Metres from its beginning to each of its points. */
  #along = [0]
  #squeeze = 1

  /** @param {any} shoreline the GeoJSON of the shore @param {readonly [number, number]} bay from and to which of its points */
  constructor({ geometry }, bay) {
    this.#line = geometry.coordinates.slice(bay[0], bay[1] + 1)
    this.#squeeze = Math.cos((Number(this.#line[0]?.[1]) * Math.PI) / 180)
    for (let index = 1; index < this.#line.length; index++) {
      const [east, north] = this.#step(index)
      this.#along.push(Number(this.#along.at(-1)) + Math.hypot(east, north) * METRES)
    }
  }

  get length() {
    return Number(this.#along.at(-1))
  }

  /** The ends, for fitting a picture. @returns {Place[]} */
  get places() {
    return this.#line.map(([lon, lat]) => ({ lat, lon }))
  }

  /** They walk to and fro, each from a place of its own. @param {number} phone @param {number} now ms @returns {Place} */
  at(phone, now) {
    const { length } = this
    const start = ((phone * EVEN * EVEN) % 1) * 2 * length
    const gone = (start + (now / 1000) * PACE) % (2 * length)
    const along = gone < length ? gone : 2 * length - gone
    const index = this.#indexAt(along)
    const [east, north] = this.#step(index)
    const before = Number(this.#along[index - 1])
    const part = (along - before) / (Number(this.#along[index]) - before)
    // 2 to 40 metres up the beach, on the left of the line.
    const up = (2 + ((phone * 7919) % 38)) / METRES / Math.hypot(east, north)
    const [lon, lat] = this.#line[index - 1] ?? [0, 0]
    return {
      lat: lat + north * part + east * up,
      lon: lon + (east * part - north * up) / this.#squeeze,
    }
  }

  /** @param {number} index @returns {[number, number]} degrees of latitude's length, from the point before */
  #step(index) {
    const [lon1, lat1] = this.#line[index - 1] ?? [0, 0]
    const [lon2, lat2] = this.#line[index] ?? [0, 0]
    return [(lon2 - lon1) * this.#squeeze, lat2 - lat1]
  }

  /** @param {number} along */
  #indexAt(along) {
    let low = 1
    let high = this.#along.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (Number(this.#along[middle]) < along) low = middle + 1
      else high = middle
    }
    return low
  }
}
