/** Draws the sea, the beach and the walkers. It knows the view, the shoreline and the walkers, but not the server. */
import { isSilent, nameOf } from './crowd.js'

/** Colours of the walkers: light on dark, and distinct for most eyes. A walker keeps its colour. */
const LIGHTS = ['#ffd479', '#ffb3a7', '#a7f0d2', '#c2ceff', '#ffd9f2', '#d3f7a4', '#8fe3ff', '#ffe9c9']
/** With more walkers than this on the screen, halos, trails and all names but the chosen walker's are left out. */
const MANY = 400
/** Maximum number of walkers whose names are drawn, if there is room. The chosen walker's name is drawn in any case. */
const NAMES = 60
/** A finger or a pointer within this distance chooses a walker, pixels. */
const NEAR = 22
/** The glow of a trail: [pixels, opacity at its end], wide and faint below, narrow and bright on top. */
const GLOW = /** @type {const} */ ([
  [11, 0.1],
  [6, 0.2],
  [2.25, 0.85],
])
/** The land is filled up to this distance from the shoreline, which is beyond any screen, pixels. */
const FAR = 20_000
/** Time that a wave takes to reach the beach, ms. */
const WAVE_MS = 7000
/** [width across both sides of the shoreline in pixels, opacity] */
const SHALLOWS = /** @type {const} */ ([
  [420, 0.05],
  [280, 0.07],
  [170, 0.09],
  [90, 0.12],
  [40, 0.16],
])
const DUNES = /** @type {const} */ ([
  [520, 0.035],
  [340, 0.05],
  [200, 0.06],
  [96, 0.13],
  [56, 0.25],
  [30, 0.6],
])
/** Scale at which the widths of SHALLOWS and DUNES apply, pixels per metre. At a smaller scale they are narrower. */
const USUAL_SCALE = 0.3

/**
 * @typedef {import('./crowd.js').Walker} Walker
 * @typedef {{ walker: Walker, lat: number, lon: number }} Placed
 * @typedef {[number, number]} XY
 * @typedef {Placed & { at: XY }} Seen
 */

export class Sea {
  /** @type {CanvasRenderingContext2D} */
  #ink
  /** Sea and beach, which are redrawn only when the view changes. @type {HTMLCanvasElement} */
  #ground = document.createElement('canvas')
  #groundOf = ''
  #sharp = 1
  /** @type {{ line: { lat: number, lon: number }[], land: boolean }[]} */
  #shores = []
  /** The walkers in the last picture. @type {Seen[]} */
  #seen = []

  /** @param {HTMLCanvasElement} canvas @param {import('./view.js').View} view */
  constructor(canvas, view) {
    this.canvas = canvas
    this.view = view
    this.#ink = pen(canvas)
  }

  /**
   * Takes GeoJSON lines. With `land: "left"`, as in OpenStreetMap's coastlines, the land is filled.
   * @param {any} json
   */
  setShoreline(json) {
    const features = json.type === 'FeatureCollection' ? json.features : [json]
    this.#shores = features.flatMap((/** @type {any} */ { geometry, properties }) => {
      const lines = geometry.type === 'MultiLineString' ? geometry.coordinates : [geometry.coordinates]
      return lines.map((/** @type {[number, number][]} */ line) => ({
        line: line.map(([lon, lat]) => ({ lat, lon })),
        land: properties?.land === 'left',
      }))
    })
  }

  get shorePoints() {
    return this.#shores.flatMap(({ line }) => line)
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas
    this.#sharp = Math.min(2, devicePixelRatio)
    for (const canvas of [this.canvas, this.#ground]) {
      canvas.width = Math.round(width * this.#sharp)
      canvas.height = Math.round(height * this.#sharp)
      pen(canvas).setTransform(this.#sharp, 0, 0, this.#sharp, 0, 0)
    }
    this.#groundOf = ''
    this.view.resize(width, height)
  }

  /**
   * Returns the walker at this point of the last picture.
   * @param {number} x @param {number} y @returns {Walker | undefined}
   */
  walkerAt(x, y) {
    const far = (/** @type {Seen} */ { at }) => Math.hypot(at[0] - x, at[1] - y)
    const nearest = this.#seen.reduce(
      (/** @type {Seen | undefined} */ best, each) => (best === undefined || far(each) < far(best) ? each : best),
      undefined,
    )
    return nearest !== undefined && far(nearest) <= NEAR ? nearest.walker : undefined
  }

  /**
   * Ages are counted from `now`. `wave` is the time of the waves, ms; callers pass 0 to let them stand still. `chosen`
   * is the number of a walker to highlight. `bar` is the distance of the scale from the bottom, pixels; 0 draws no
   * scale.
   * @param {readonly Placed[]} placed
   * @param {{ now: number, wave: number, chosen?: number | undefined, bar?: number }} moment
   */
  draw(placed, { now, wave, chosen, bar = 0 }) {
    const { width, height, lat, lon, scale } = this.view
    const wanted = [width, height, lat, lon, scale].join()
    if (this.#groundOf !== wanted) this.#drawGround(pen(this.#ground))
    this.#groundOf = wanted
    this.#ink.drawImage(this.#ground, 0, 0, width, height)
    for (const { line } of this.#shores) this.#drawWaves(line, wave)
    this.#drawWalkers(placed, now, chosen)
    if (bar > 0) this.#drawScale(bar)
  }

  /** @param {CanvasRenderingContext2D} ink */
  #drawGround(ink) {
    const { width, height } = this.view
    const water = ink.createLinearGradient(0, 0, 0, height)
    water.addColorStop(0, '#031824')
    water.addColorStop(1, '#063249')
    ink.fillStyle = water
    ink.fillRect(0, 0, width, height)
    ink.lineJoin = ink.lineCap = 'round'
    const breadth = this.#breadth
    for (const { line, land } of this.#shores) {
      const edge = this.#onScreen(line)
      // The water becomes lighter towards the beach.
      for (const [wide, alpha] of SHALLOWS) stroke(ink, edge, wide * breadth, `rgb(46 158 190 / ${alpha})`)
      ink.save()
      if (land) fillLand(ink, edge)
      // The land becomes lighter too if its side is known; otherwise a narrower strip of sand is drawn on both sides.
      for (const [wide, alpha] of land ? DUNES : DUNES.slice(-3)) {
        stroke(ink, edge, wide * breadth, `rgb(214 187 138 / ${alpha})`)
      }
      ink.restore()
      stroke(ink, edge, 2, 'rgb(240 250 255 / 0.75)')
    }
  }

  get #breadth() {
    return Math.min(1.4, Math.max(0.2, this.view.scale / USUAL_SCALE))
  }

  /** @param {readonly { lat: number, lon: number }[]} line @param {number} wave */
  #drawWaves(line, wave) {
    const edge = this.#onScreen(line)
    for (let each = 0; each < 3; each++) {
      // A wave begins off the beach, and fades in and out on its way.
      const way = (wave / WAVE_MS + each / 3) % 1
      stroke(
        this.#ink,
        beside(edge, -46 * this.#breadth * (1 - way)),
        1.5,
        `rgb(214 244 255 / ${0.5 * Math.sin(Math.PI * way)})`,
      )
    }
  }

  /** @param {readonly { lat: number, lon: number }[]} line */
  #onScreen(line) {
    return line.map(({ lat, lon }) => this.view.toScreen(lat, lon))
  }

  /** @param {readonly Placed[]} placed @param {number} now @param {number | undefined} chosen */
  #drawWalkers(placed, now, chosen) {
    const ink = this.#ink
    const { width, height } = this.view
    const seen = placed
      .map(each => ({ ...each, at: this.view.toScreen(each.lat, each.lon) }))
      .filter(({ at: [x, y] }) => x > -20 && x < width + 20 && y > -20 && y < height + 20)
    this.#seen = seen
    const many = seen.length > MANY
    // Walkers are drawn smaller in a crowd.
    const size = Math.min(6, Math.max(3, Math.sqrt((width * height) / Math.max(1, seen.length)) / 14))
    if (!many) for (const { walker, at } of seen) this.#drawTrail(walker, at)
    for (const { walker, at } of seen) {
      const [x, y] = at
      const light = lightOf(walker)
      const quiet = isSilent(walker, now)
      ink.beginPath()
      ink.arc(x, y, size, 0, 2 * Math.PI)
      if (quiet) {
        ink.lineWidth = 1.5
        ink.strokeStyle = light
        ink.stroke()
        continue
      }
      if (!many) {
        ink.globalAlpha = 0.16
        ink.fillStyle = light
        ink.arc(x, y, size * 2.2, 0, 2 * Math.PI)
        ink.fill()
        ink.globalAlpha = 1
        ink.beginPath()
        ink.arc(x, y, size, 0, 2 * Math.PI)
      }
      ink.fillStyle = light
      ink.fill()
      ink.lineWidth = many ? 0.75 : 1.5
      ink.strokeStyle = '#031824'
      ink.stroke()
    }
    const first = seen.filter(({ walker }) => walker.number === chosen)
    for (const { at } of first) this.#drawRing(at, size)
    this.#drawNames(first.concat(seen.filter(({ walker }) => walker.name !== '').slice(0, many ? 0 : NAMES)), size)
  }

  /** @param {XY} at @param {number} size */
  #drawRing([x, y], size) {
    const ink = this.#ink
    ink.beginPath()
    ink.arc(x, y, size * 2.2, 0, 2 * Math.PI)
    ink.lineWidth = 2
    ink.strokeStyle = '#f0f9fd'
    ink.stroke()
  }

  /**
   * Draws a trail in four pieces, which fade towards its beginning. Where trails cross, their light adds up.
   * @param {Walker} walker @param {XY} at
   */
  #drawTrail(walker, at) {
    const points = walker.trail.map(([lat, lon]) => this.view.toScreen(lat, lon))
    points.push(at)
    const ink = this.#ink
    ink.strokeStyle = lightOf(walker)
    ink.lineJoin = ink.lineCap = 'round'
    ink.globalCompositeOperation = 'lighter'
    const piece = Math.ceil(points.length / 4)
    for (let quarter = 0; quarter < 4; quarter++) {
      const part = points.slice(quarter * piece, (quarter + 1) * piece + 1)
      for (const [width, alpha] of GLOW) {
        ink.globalAlpha = (alpha * (quarter + 0.5)) / 4
        ink.lineWidth = width
        ink.beginPath()
        for (const [x, y] of part) ink.lineTo(x, y)
        ink.stroke()
      }
    }
    ink.globalCompositeOperation = 'source-over'
    ink.globalAlpha = 1
  }

  /** Of two names that would overlap only the first is drawn. @param {readonly Seen[]} seen @param {number} size */
  #drawNames(seen, size) {
    const ink = this.#ink
    ink.font = '600 14px system-ui, sans-serif'
    ink.textBaseline = 'middle'
    ink.lineWidth = 4
    ink.strokeStyle = '#031824'
    ink.fillStyle = '#f0f9fd'
    /** @type {[number, number, number][]} */
    const taken = []
    for (const {
      walker,
      at: [x, y],
    } of seen) {
      const name = nameOf(walker)
      const wide = ink.measureText(name).width
      // A name is drawn above and beside its dot, where a row of walkers has no other dot.
      const top = y - size - 9
      const left = x + size + wide > this.view.width ? x - size - wide : x + size
      if (taken.some(([l, t, w]) => left < l + w && l < left + wide && Math.abs(t - top) < 16)) continue
      taken.push([left, top, wide])
      ink.strokeText(name, left, top)
      ink.fillText(name, left, top)
    }
  }

  /** @param {number} above distance from the bottom, pixels */
  #drawScale(above) {
    const ink = this.#ink
    const { width, height } = this.view
    const { text, pixels } = this.view.bar(120)
    const right = width - 20
    const y = height - above
    ink.strokeStyle = ink.fillStyle = '#d5e9f2'
    ink.lineWidth = 2
    ink.lineCap = 'butt'
    ink.beginPath()
    ink.moveTo(right - pixels, y - 6)
    ink.lineTo(right - pixels, y)
    ink.lineTo(right, y)
    ink.lineTo(right, y - 6)
    ink.stroke()
    ink.font = '600 13px system-ui, sans-serif'
    ink.textAlign = 'right'
    ink.textBaseline = 'alphabetic'
    ink.fillText(text, right, y - 10)
    ink.textAlign = 'left'
  }
}

/** @param {Walker} walker */
const lightOf = ({ number }) => LIGHTS[number % LIGHTS.length] ?? '#fff'

/** @param {HTMLCanvasElement} canvas */
function pen(canvas) {
  const ink = canvas.getContext('2d', { alpha: false })
  if (ink === null) throw new Error('this browser can not draw on a canvas')
  return ink
}

/** @param {CanvasRenderingContext2D} ink @param {readonly XY[]} points @param {number} width @param {string} style */
function stroke(ink, points, width, style) {
  ink.beginPath()
  for (const [x, y] of points) ink.lineTo(x, y)
  ink.lineWidth = width
  ink.strokeStyle = style
  ink.stroke()
}

/**
 * Extends the line far beyond both ends, fills the area on its left, and clips later drawing to this area.
 * @param {CanvasRenderingContext2D} ink @param {readonly XY[]} edge
 */
function fillLand(ink, edge) {
  const first = /** @type {XY} */ (edge[0])
  const last = /** @type {XY} */ (edge.at(-1))
  const [dx, dy] = direction(first, last)
  const corners = [
    [last[0] + dx * FAR, last[1] + dy * FAR],
    [last[0] + (dx + dy) * FAR, last[1] + (dy - dx) * FAR],
    [first[0] - (dx - dy) * FAR, first[1] - (dy + dx) * FAR],
    [first[0] - dx * FAR, first[1] - dy * FAR],
  ]
  ink.beginPath()
  for (const [x, y] of [...edge, .../** @type {XY[]} */ (corners)]) ink.lineTo(x, y)
  ink.closePath()
  ink.fillStyle = '#12222a'
  ink.fill()
  ink.clip()
}

/** Returns the unit vector from one point to the other. @param {XY} from @param {XY} to @returns {XY} */
function direction([x1, y1], [x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1
  return [(x2 - x1) / length, (y2 - y1) / length]
}

/**
 * Returns the line moved to its left by `by` pixels, or to its right if negative. On a screen y grows downwards.
 * @param {readonly XY[]} line @param {number} by @returns {XY[]}
 */
function beside(line, by) {
  return line.map(([x, y], index) => {
    const [dx, dy] = direction(
      line[Math.max(0, index - 2)] ?? [x, y],
      line[Math.min(line.length - 1, index + 2)] ?? [x, y],
    )
    return [x + dy * by, y - dx * by]
  })
}
