/** Keeps the walkers that the server sends, and says where to draw them between two updates. Pure; times are in ms. */

/** The server sends updates once a second; a walker is drawn as moving to its new position for the same time. */
const STRIDE_MS = 1000
/** After this time without a position a walker counts as silent, ms. */
const QUIET_MS = 15_000
/** Maximum number of places in a walker's trail. */
const TRAIL = 90
/** A place is added to the trail if it is farther than this from the last one, degrees (about 2 m). */
const APART = 2e-5

/**
 * @typedef {object} Walker
 * @property {number} number
 * @property {string} name
 * @property {number} lat
 * @property {number} lon
 * @property {number} fromLat
 * @property {number} fromLon
 * @property {number} movedAt
 * @property {number} seenAt
 * @property {[number, number][]} trail oldest first
 * @typedef {readonly [number, number, number, number, string, (readonly number[])?]} Drawn number, lat, lon, age in ms, name, and
 *   the trail as lat, lon, ..., oldest first
 */

/** @param {Pick<Walker, 'seenAt'>} walker @param {number} now */
export const isSilent = ({ seenAt }, now) => now - seenAt > QUIET_MS

/** @param {Pick<Walker, 'name' | 'number'>} walker */
export const nameOf = ({ name, number }) => name || `walker ${number}`

export class Crowd {
  /** @type {Map<number, Walker>} */
  walkers = new Map()

  /**
   * Takes a whole snapshot: walkers that are not in it are removed.
   * @param {{ walkers: readonly Drawn[] }} snapshot @param {number} now
   */
  replace({ walkers }, now) {
    const before = this.walkers
    this.walkers = new Map()
    for (const drawn of walkers) {
      const known = before.get(drawn[0])
      // After a restart of the server, another walker may have this number.
      if (known !== undefined && known.name === drawn[4]) this.walkers.set(drawn[0], known)
      this.#place(drawn, now)
    }
  }

  /** @param {{ moved: readonly Drawn[], left: readonly number[] }} tick @param {number} now */
  update({ moved, left }, now) {
    for (const number of left) this.walkers.delete(number)
    for (const drawn of moved) this.#place(drawn, now)
  }

  /** Returns the walkers that are not silent. @param {number} now */
  walking(now) {
    return [...this.walkers.values()].filter(walker => !isSilent(walker, now))
  }

  /** Returns where to draw a walker at `now`. @param {Walker} walker @param {number} now @returns {[number, number]} */
  at({ lat, lon, fromLat, fromLon, movedAt }, now) {
    const part = Math.min(1, Math.max(0, (now - movedAt) / STRIDE_MS))
    return [fromLat + (lat - fromLat) * part, fromLon + (lon - fromLon) * part]
  }

  /** @param {Drawn} drawn @param {number} now */
  #place([number, lat, lon, age, name, behind = []], now) {
    const known = this.walkers.get(number)
    if (known === undefined) {
      const walker = { number, name, lat, lon, fromLat: lat, fromLon: lon, movedAt: now, seenAt: now - age }
      this.walkers.set(number, { ...walker, trail: [...pairs(behind), [lat, lon]] })
      return
    }
    const [fromLat, fromLon] = this.at(known, now)
    const last = known.trail.at(-1)
    if (last === undefined || Math.abs(last[0] - lat) + Math.abs(last[1] - lon) > APART) {
      known.trail.push([lat, lon])
      if (known.trail.length > TRAIL) known.trail.shift()
    }
    Object.assign(known, { name, lat, lon, fromLat, fromLon, movedAt: now, seenAt: now - age })
  }
}

/** @param {readonly number[]} flat @returns {[number, number][]} */
function pairs(flat) {
  return Array.from({ length: flat.length >> 1 }, (_, index) => [Number(flat[2 * index]), Number(flat[2 * index + 1])])
}
