/**
 * Converts between latitude and longitude and the screen, and holds the visible part of the world. It uses no DOM. A
 * shoreline is small, so a plane that is exact at its middle is accurate enough.
 */

/** Metres per degree on a sphere with the equatorial radius of WGS 84, rounded. */
const METRES = 111_320
/** Minimum size of the visible part, metres. */
const CLOSEST_M = 40
/** Minimum width that `fit` shows, for example around a single walker, metres. */
const LEAST_FIT_M = 400
/** Maximum size of the visible part, metres; beyond it the plane is too inaccurate. */
const FARTHEST_M = 400_000
/** Share of the screen that `fit` leaves free on each side. */
const MARGIN = 0.12

/** @typedef {{ lat: number, lon: number }} Point */

export class View {
  width = 1
  height = 1
  /** Degrees at the middle of the screen. */
  lat = 0
  lon = 0
  /** Pixels per metre. */
  scale = 1

  /** @param {number} width @param {number} height */
  resize(width, height) {
    this.width = width
    this.height = height
  }

  /** @param {number} lat @param {number} lon @returns {[number, number]} */
  toScreen(lat, lon) {
    const x = (lon - this.lon) * METRES * this.#squeeze()
    const y = (lat - this.lat) * METRES
    return [this.width / 2 + x * this.scale, this.height / 2 - y * this.scale]
  }

  /** @param {number} x @param {number} y @returns {Point} */
  toWorld(x, y) {
    return {
      lat: this.lat - (y - this.height / 2) / this.scale / METRES,
      lon: this.lon + (x - this.width / 2) / this.scale / METRES / this.#squeeze(),
    }
  }

  /** Shows all points. @param {Iterable<Point>} points @returns {boolean} false if there are none */
  fit(points) {
    let [south, north, west, east] = [Infinity, -Infinity, Infinity, -Infinity]
    for (const { lat, lon } of points) {
      south = Math.min(south, lat)
      north = Math.max(north, lat)
      west = Math.min(west, lon)
      east = Math.max(east, lon)
    }
    if (south === Infinity) return false
    this.lat = (south + north) / 2
    this.lon = (west + east) / 2
    const high = (north - south) * METRES
    const wide = (east - west) * METRES * this.#squeeze()
    const room = 1 - 2 * MARGIN
    const across = Math.max(wide, LEAST_FIT_M)
    this.#setScale(Math.min((this.width * room) / across, (this.height * room) / Math.max(high, 1)))
    return true
  }

  /** @param {Point} place */
  center({ lat, lon }) {
    this.lat = lat
    this.lon = lon
  }

  /** The place at (x, y) stays where it is. @param {number} factor @param {number} x @param {number} y */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const under = this.toWorld(x, y)
    this.#setScale(this.scale * factor)
    const now = this.toWorld(x, y)
    this.lat += under.lat - now.lat
    this.lon += under.lon - now.lon
  }

  /** @param {number} dx @param {number} dy pixels */
  pan(dx, dy) {
    const { lat, lon } = this.toWorld(this.width / 2 - dx, this.height / 2 - dy)
    this.lat = Math.min(85, Math.max(-85, lat))
    this.lon = Math.min(180, Math.max(-180, lon))
  }

  /** Returns a round length and its width in pixels, for a scale bar of up to `about` pixels. @param {number} about */
  bar(about) {
    const metres = about / this.scale
    const ten = 10 ** Math.floor(Math.log10(metres))
    const round = [5, 2, 1].map(times => times * ten).find(length => length <= metres) ?? ten
    return { text: round >= 1000 ? `${round / 1000} km` : `${round} m`, pixels: round * this.scale }
  }

  #squeeze() {
    return Math.max(0.05, Math.cos((this.lat * Math.PI) / 180))
  }

  /** @param {number} scale */
  #setScale(scale) {
    const across = Math.min(this.width, this.height)
    this.scale = Math.min(across / CLOSEST_M, Math.max(across / FARTHEST_M, scale))
  }
}

/**
 * The area that counts as this shoreline: its bounding box, extended on each side by half of its longer edge.
 * @param {readonly Point[]} shore
 */
export function surroundings(shore) {
  const lats = shore.map(({ lat }) => lat)
  const lons = shore.map(({ lon }) => lon)
  const [south, north, west, east] = [Math.min(...lats), Math.max(...lats), Math.min(...lons), Math.max(...lons)]
  const more = Math.max(north - south, east - west) / 2
  return {
    /** @param {Point} place */
    holds: ({ lat, lon }) => lat > south - more && lat < north + more && lon > west - more && lon < east + more,
    /** The middle third of the line, for the initial view. */
    middle: shore.slice(Math.floor(shore.length / 3), Math.ceil((shore.length * 2) / 3)),
  }
}
