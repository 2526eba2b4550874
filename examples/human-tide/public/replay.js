/**
 * Past walks, which are fetched a page at a time during the replay, and the positions of the walkers at a given step.
 */

/** If two places of a walker are more than this number of steps apart, the walker was away in between. */
const GAP_STEPS = 12
/** Maximum number of earlier places in the trail behind a walker. */
const TRAIL = 40
/** Loading stops after this number of places, about 50 MB of memory. */
const MOST = 1_000_000

/**
 * @typedef {{ key: string, name: string, number: number, steps: number[], lats: number[], lons: number[] }} Path
 * @typedef {import('./crowd.js').Walker} Walker
 */

export class Replay {
  /** @type {Map<string, Path>} */
  paths = new Map()
  stepMs = 1000
  /** All places before this step are loaded. */
  loadedSteps = 0
  complete = false
  /** @type {string | undefined} */
  problem
  #places = 0

  /** @param {number} from @param {number} to ms since 1970 */
  constructor(from, to) {
    this.from = from
    this.to = to
  }

  get steps() {
    return (this.to - this.from) / this.stepMs
  }

  /** @param {(query: string) => Promise<any>} get @param {AbortSignal} signal */
  async load(get, signal) {
    for (let after = 0; !signal.aborted; ) {
      const page = await get(`from=${this.from}&to=${this.to}&after=${after}`)
      if (signal.aborted) return
      this.take(page)
      if (page.next === null) break
      after = page.next
      if (this.#places > MOST) {
        this.problem = 'There is more than this page can hold; choose a shorter time.'
        break
      }
    }
    this.complete = true
    this.loadedSteps = this.steps
  }

  /** @param {{ stepMs: number, next: number | null, walkers: { key: string, name: string }[], moves: [number, number, number, number][] }} page */
  take({ stepMs, walkers, moves, next }) {
    this.stepMs = stepMs
    const paths = walkers.map(({ key, name }) => {
      const path = this.paths.get(key) ?? { key, name, number: this.paths.size, steps: [], lats: [], lons: [] }
      this.paths.set(key, path)
      return path
    })
    for (const [step, number, lat, lon] of moves) {
      const path = paths[number]
      if (path === undefined) continue
      path.steps.push(step)
      path.lats.push(lat)
      path.lons.push(lon)
    }
    this.#places += moves.length
    this.loadedSteps = next ?? this.steps
  }

  /** Returns the walkers at this step, which may be a fraction. @param {number} step @returns {Walker[]} */
  at(step) {
    const present = []
    for (const { name, number, steps, lats, lons } of this.paths.values()) {
      const before = lastNotAfter(steps, step)
      if (before < 0) continue
      const since = step - Number(steps[before])
      const next = steps[before + 1]
      const joined = next !== undefined && next - Number(steps[before]) <= GAP_STEPS
      if (since > GAP_STEPS && !joined) continue
      const part = joined ? since / (next - Number(steps[before])) : 0
      const lat = between(lats, before, part)
      const lon = between(lons, before, part)
      const seenAt = joined ? 0 : -since * this.stepMs
      present.push({
        ...{ number, name, lat, lon, fromLat: lat, fromLon: lon, movedAt: 0, seenAt },
        trail: trailOf(steps, lats, lons, before),
      })
    }
    return present
  }

  /** Every fifth place of each walker, for fitting the view. @returns {Generator<{ lat: number, lon: number }>} */
  *places() {
    for (const { lats, lons } of this.paths.values()) {
      for (let index = 0; index < lats.length; index += 5) yield { lat: Number(lats[index]), lon: Number(lons[index]) }
    }
  }
}

/** @param {readonly number[]} values @param {number} index @param {number} part */
function between(values, index, part) {
  const from = Number(values[index])
  return part === 0 ? from : from + (Number(values[index + 1]) - from) * part
}

/**
 * @param {readonly number[]} steps @param {readonly number[]} lats @param {readonly number[]} lons @param {number} end
 * @returns {[number, number][]}
 */
function trailOf(steps, lats, lons, end) {
  let begin = end
  while (begin > 0 && end - begin < TRAIL && Number(steps[begin]) - Number(steps[begin - 1]) <= GAP_STEPS) begin--
  return lats.slice(begin, end + 1).map((lat, index) => [lat, Number(lons[begin + index])])
}

/**
 * Returns the index of the last value that is at most `limit`, or -1 if every value is above it.
 * @param {readonly number[]} sorted @param {number} limit
 */
export function lastNotAfter(sorted, limit) {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (Number(sorted[middle]) <= limit) low = middle + 1
    else high = middle
  }
  return low - 1
}
