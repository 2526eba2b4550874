/** Draws the last minute of one side: the positions that were due, and those that were stored in time. */

/** One minute, at two points a second. */
const POINTS = 120

export class Chart {
  /** @type {{ due: number, inTime: number }[]} */
  #points = []

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas
    new ResizeObserver(() => {
      const sharp = Math.min(2, devicePixelRatio)
      canvas.width = Math.round(canvas.clientWidth * sharp)
      canvas.height = Math.round(canvas.clientHeight * sharp)
      this.#draw()
    }).observe(canvas)
  }

  /** @param {number} due @param {number} inTime */
  add(due, inTime) {
    this.#points.push({ due, inTime })
    if (this.#points.length > POINTS) this.#points.shift()
    this.#draw()
  }

  #draw() {
    const { width, height } = this.canvas
    const ink = this.canvas.getContext('2d')
    if (ink === null || width === 0) return
    const colour = (/** @type {string} */ name) => getComputedStyle(this.canvas).getPropertyValue(name)
    const most = Math.max(1, ...this.#points.map(({ due }) => due)) * 1.1
    const x = (/** @type {number} */ index) => width - ((this.#points.length - 1 - index) / (POINTS - 1)) * width
    const y = (/** @type {number} */ value) => height - (value / most) * (height - 2)
    ink.clearRect(0, 0, width, height)
    ink.fillStyle = colour('--in-time')
    ink.beginPath()
    ink.moveTo(x(0), height)
    for (const [index, { inTime }] of this.#points.entries()) ink.lineTo(x(index), y(inTime))
    ink.lineTo(width, height)
    ink.fill()
    ink.strokeStyle = colour('--ink')
    ink.lineWidth = height / 50
    ink.setLineDash([height / 15, height / 15])
    ink.beginPath()
    for (const [index, { due }] of this.#points.entries()) ink.lineTo(x(index), y(due))
    ink.stroke()
    ink.setLineDash([])
  }
}
