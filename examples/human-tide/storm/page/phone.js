/**
 * The phones of the storm: where each one is at a given time, and when it sends. Pure. The load and the page both
 * compute the positions here, so the server need not send them to the page.
 */

/** Each phone sends this often, ms. */
export const EVERY_MS = 1000
/** Walking speed, metres per second. */
const PACE = 1.2
const METRES = 111_320
/**
 * Fractional part of the golden ratio: the fractional parts of its multiples are evenly spread for any number of them.
 */
const EVEN = 0.618033988749895

/** @typedef {{ lat: number, lon: number }} Place */

/** The moment of the second at which a phone sends, 0 to 1. @param {number} phone */
export const phaseOf = phone => (phone * EVEN) % 1

export class Beach {
  /** @type {readonly (readonly [number, number])[]} longitude, latitude */
  #line
  /** Metres from the start of the line to each of its points. */
  #along = [0]
  #squeeze = 1

  /**
   * @param {any} shoreline the GeoJSON of the shore
   * @param {readonly [number, number]} bay indexes of the first and the last point of the beach
   */
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

  /** The points of the line, for fitting the view. @returns {Place[]} */
  get places() {
    return this.#line.map(([lon, lat]) => ({ lat, lon }))
  }

  /**
   * The phones walk to and fro, each from its own start.
   * @param {number} phone
   * @param {number} now ms
   * @returns {Place}
   */
  at(phone, now) {
    const { length } = this
    const start = ((phone * EVEN * EVEN) % 1) * 2 * length
    const gone = (start + (now / 1000) * PACE) % (2 * length)
    const along = gone < length ? gone : 2 * length - gone
    const index = this.#indexAt(along)
    const [east, north] = this.#step(index)
    const before = Number(this.#along[index - 1])
    const part = (along - before) / (Number(this.#along[index]) - before)
    // The phone walks 2 to 39 metres up the beach, on the left of the line.
    const up = (2 + ((phone * 7919) % 38)) / METRES / Math.hypot(east, north)
    const [lon, lat] = this.#line[index - 1] ?? [0, 0]
    return {
      lat: lat + north * part + east * up,
      lon: lon + (east * part - north * up) / this.#squeeze,
    }
  }

  /** @param {number} index @returns {[number, number]} east and north of the previous point, in degrees of latitude */
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
