/** Who walks where, as the server tells it, and where to draw them in between. Pure; told the time (ms). */

/** The server tells once a second; a walker takes as long to get from one place to the next. */
const STRIDE_MS = 1000
/** Not heard of for this long: drawn as quiet. */
const QUIET_MS = 15_000
/** Places remembered of each for its trail. */
const TRAIL = 90
/** A trail remembers a place when it is this far from the last one, degrees (about 2 m). */
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
 *   where it came along as lat, lon, ..., the oldest first
 */

/** @param {Pick<Walker, 'seenAt'>} walker @param {number} now */
export const isSilent = ({ seenAt }, now) => now - seenAt > QUIET_MS

/** @param {Pick<Walker, 'name' | 'number'>} walker */
export const nameOf = ({ name, number }) => name || `walker ${number}`

export class Crowd {
  /** @type {Map<number, Walker>} */
  walkers = new Map()

  /** The whole picture: whoever is not in it is not there. @param {{ walkers: readonly Drawn[] }} snapshot @param {number} now */
  replace({ walkers }, now) {
    const before = this.walkers
    this.walkers = new Map()
    for (const drawn of walkers) {
      const known = before.get(drawn[0])
      // After a restart of the server a number may be somebody else's.
      if (known !== undefined && known.name === drawn[4]) this.walkers.set(drawn[0], known)
      this.#place(drawn, now)
    }
  }

  /** @param {{ moved: readonly Drawn[], left: readonly number[] }} tick @param {number} now */
  update({ moved, left }, now) {
    for (const number of left) this.walkers.delete(number)
    for (const drawn of moved) this.#place(drawn, now)
  }

  /** Who walks now; the others are on the shore, but have been silent for a while. @param {number} now */
  walking(now) {
    return [...this.walkers.values()].filter(walker => !isSilent(walker, now))
  }

  /** Where a walker is drawn at this moment. @param {Walker} walker @param {number} now @returns {[number, number]} */
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
