/** The curves of the page, on a fake canvas that records the points. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

const HEIGHT = 100
const drawn: [x: number, y: number][] = []
const ink = new Proxy({} as Record<string, unknown>, {
  get: (_, name) => (name === 'lineTo' ? (x: number, y: number) => drawn.push([x, y]) : () => {}),
  set: () => true,
})
const canvas = { clientWidth: 400, clientHeight: HEIGHT, getContext: () => ink }
Object.assign(globalThis, {
  devicePixelRatio: 1,
  matchMedia: () => ({ addEventListener() {} }),
  getComputedStyle: () => ({ fontFamily: 'serif', getPropertyValue: () => '#000' }),
  ResizeObserver: class {
    readonly #resized: () => void
    constructor(resized: () => void) {
      this.#resized = resized
    }
    observe(): void {
      queueMicrotask(this.#resized)
    }
  },
})
const file = new URL('../../assets/live/lines.js', import.meta.url)
const { Curve, Minute } = await import(file.href)

test('goodput above the capacity is drawn to scale, inside the canvas', async () => {
  const minute = new Minute(canvas)
  minute.within(50)
  for (const [atS, good] of [
    [1, 50],
    [2, 100],
    [3, 200],
  ] as const)
    minute.add(atS, good)
  const curve = new Curve(canvas)
  curve.within(50, [0.5, 1, 2, 10])
  curve.set(
    [10, [0, 200]],
    [
      [1, [50, 50]],
      [2, [0, 100]],
      [10, [0, 200]],
    ],
  )
  await Promise.resolve()
  for (const picture of [minute, curve]) {
    drawn.length = 0
    picture.draw()
    const heights = drawn.slice(-3).map(([, y]) => HEIGHT - y)
    assert.ok(
      heights.every(height => height > 0 && height < HEIGHT),
      String(heights),
    )
    const [low, middle, high] = heights as [number, number, number]
    assert.ok(Math.abs((high - middle) / (middle - low) - 2) < 0.01, String(heights))
  }
})

test('a load that is not judged for a side has no point of it, instead of one at zero', async () => {
  const curve = new Curve(canvas)
  curve.within(50, [0.5, 1, 2, 10])
  const drawnWith = (of1x: number | null): number => {
    curve.set(
      [10, [50, 50]],
      [
        [0.5, [25, 25]],
        [1, [of1x, 50]],
        [10, [50, 50]],
      ],
    )
    drawn.length = 0
    curve.draw()
    return drawn.length
  }
  await Promise.resolve()
  assert.equal(drawnWith(null), drawnWith(0) - 1)
})
