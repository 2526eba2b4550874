/** A canvas that is as sharp as the screen, and is drawn again when its size or the colours change. */
export class Surface {
  width = 0
  height = 0
  /** Of a pixel of the page. */
  scale = 1
  #colours = new Map()

  /** @param {HTMLCanvasElement} canvas @param {() => void} draw */
  constructor(canvas, draw) {
    this.canvas = canvas
    const again = () => {
      this.#colours.clear()
      this.scale = Math.min(2, devicePixelRatio)
      this.width = canvas.clientWidth
      this.height = canvas.clientHeight
      canvas.width = Math.round(this.width * this.scale)
      canvas.height = Math.round(this.height * this.scale)
      draw()
    }
    new ResizeObserver(again).observe(canvas)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again)
  }

  /** An empty page in its own pixels; undefined while it has no size. */
  begin() {
    const ink = this.canvas.getContext('2d')
    if (ink === null || this.width === 0) return undefined
    ink.setTransform(this.scale, 0, 0, this.scale, 0, 0)
    ink.clearRect(0, 0, this.width, this.height)
    ink.font = `${this.width < 260 ? 11 : 13}px ${getComputedStyle(this.canvas).fontFamily}`
    return ink
  }

  /** @param {string} name of a variable of the style sheet */
  colour(name) {
    if (!this.#colours.has(name)) this.#colours.set(name, getComputedStyle(this.canvas).getPropertyValue(name))
    return this.#colours.get(name)
  }
}
