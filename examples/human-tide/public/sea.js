/** Draws the sea, the beach and the walkers. Knows a view, a shoreline and who is where; nothing of the server. */
import { isSilent, nameOf } from './crowd.js'

/** Light on dark, apart from each other for most eyes; a walker keeps its colour. */
const LIGHTS = ['#ffd479', '#ffb3a7', '#a7f0d2', '#c2ceff', '#ffd9f2', '#d3f7a4', '#8fe3ff', '#ffe9c9']
/** With more walkers than this on the screen: smaller, without trails and without names. */
const MANY = 400
/** Names are written for the first so many that have the room. */
const NAMES = 60
/** A finger or a pointer that is this near means this walker, pixels. */
const NEAR = 22
/** A trail glows: [pixels, opacity at its end], wide and faint below, narrow and bright on top. */
const GLOW = /** @type {const} */ ([
  [11, 0.1],
  [6, 0.2],
  [2.25, 0.85],
])
/** Far beyond any screen, pixels: where the land ends that has no other end. */
const FAR = 20_000
/** Waves come in at this pace, ms. */
const WAVE_MS = 7000
/** [pixels across both sides, opacity] */
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
/** Pixels of a metre at which those widths are right; farther out everything is narrower. */
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
  /** Sea and beach, which change only when the view does. @type {HTMLCanvasElement} */
  #ground = document.createElement('canvas')
  #groundOf = ''
  #sharp = 1
  /** @type {{ line: { lat: number, lon: number }[], land: boolean }[]} */
  #shores = []
  /** Whom the last picture showed. @type {Seen[]} */
  #seen = []

  /** @param {HTMLCanvasElement} canvas @param {import('./view.js').View} view */
  constructor(canvas, view) {
    this.canvas = canvas
    this.view = view
    this.#ink = pen(canvas)
  }

  /** GeoJSON lines; with `land: "left"` as in OpenStreetMap's coastlines, the land is filled. @param {any} json */
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

  /** The walker that is meant by this point of the last picture. @param {number} x @param {number} y @returns {Walker | undefined} */
  walkerAt(x, y) {
    const far = (/** @type {Seen} */ { at }) => Math.hypot(at[0] - x, at[1] - y)
    const nearest = this.#seen.reduce(
      (/** @type {Seen | undefined} */ best, each) => (best === undefined || far(each) < far(best) ? each : best),
      undefined,
    )
    return nearest !== undefined && far(nearest) <= NEAR ? nearest.walker : undefined
  }

  /**
   * `now` is what ages are counted from; `wave` is the time of the waves, ms, and 0 lets them stand still; `chosen` is the
   * number of a walker to point out; `bar` is how far above the bottom the scale stands, pixels; 0 is a picture without.
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
      // The nearer to the beach the lighter: the water...
      for (const [wide, alpha] of SHALLOWS) stroke(ink, edge, wide * breadth, `rgb(46 158 190 / ${alpha})`)
      ink.save()
      if (land) fillLand(ink, edge)
      // ...and, where we know which side it is on, the land; else the sand lies on both.
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
      // A wave begins well out and fades in and out on its way to the beach.
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
    // Smaller in a crowd.
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

  /** Fades towards its beginning, in four pieces; where trails cross, their light adds up. @param {Walker} walker @param {XY} at */
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

  /** Where two names would cover each other only the first is written. @param {readonly Seen[]} seen @param {number} size */
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
      // Above the dot and beside it, where the next dot of a row is not.
      const top = y - size - 9
      const left = x + size + wide > this.view.width ? x - size - wide : x + size
      if (taken.some(([l, t, w]) => left < l + w && l < left + wide && Math.abs(t - top) < 16)) continue
      taken.push([left, top, wide])
      ink.strokeText(name, left, top)
      ink.fillText(name, left, top)
    }
  }

  /** @param {number} above pixels */
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

/** To both sides far out, then far to the left of the way the line goes; what is drawn next stays on it. @param {CanvasRenderingContext2D} ink @param {readonly XY[]} edge */
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

/** Of length one. @param {XY} from @param {XY} to @returns {XY} */
function direction([x1, y1], [x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1
  return [(x2 - x1) / length, (y2 - y1) / length]
}

/** The line, moved to its left (to its right where negative), pixels. On a screen y grows downwards. @param {readonly XY[]} line @param {number} by @returns {XY[]} */
function beside(line, by) {
  return line.map(([x, y], index) => {
    const [dx, dy] = direction(
      line[Math.max(0, index - 2)] ?? [x, y],
      line[Math.min(line.length - 1, index + 2)] ?? [x, y],
    )
    return [x + dy * by, y - dx * by]
  })
}
