/** Moves a view on drag, pinch, wheel and keys. */

/** Pixels per press of an arrow key. */
const PRESS = 80

/** @param {HTMLElement} element @param {import('./view.js').View} view @param {() => void} onMove */
export function steer(element, view, onMove) {
  /** @type {Map<number, { x: number, y: number }>} */
  const fingers = new Map()

  element.addEventListener('pointerdown', event => {
    element.setPointerCapture(event.pointerId)
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY })
  })
  element.addEventListener('pointermove', event => {
    const before = fingers.get(event.pointerId)
    if (before === undefined) return
    const now = { x: event.clientX, y: event.clientY }
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1]
    if (other === undefined) {
      view.pan(now.x - before.x, now.y - before.y)
    } else {
      const apart = (/** @type {{ x: number, y: number }} */ { x, y }) => Math.hypot(x - other.x, y - other.y) || 1
      view.zoom(apart(now) / apart(before), (now.x + other.x) / 2, (now.y + other.y) / 2)
    }
    fingers.set(event.pointerId, now)
    onMove()
  })
  for (const end of /** @type {const} */ (['pointerup', 'pointercancel'])) {
    element.addEventListener(end, event => fingers.delete(event.pointerId))
  }
  element.addEventListener(
    'wheel',
    event => {
      event.preventDefault()
      view.zoom(Math.exp(-event.deltaY / 400), event.clientX, event.clientY)
      onMove()
    },
    { passive: false },
  )
  element.addEventListener('keydown', event => {
    /** @type {Readonly<Record<string, () => void>>} */
    const keys = {
      ArrowLeft: () => view.pan(PRESS, 0),
      ArrowRight: () => view.pan(-PRESS, 0),
      ArrowUp: () => view.pan(0, PRESS),
      ArrowDown: () => view.pan(0, -PRESS),
      '+': () => view.zoom(1.5),
      '-': () => view.zoom(1 / 1.5),
    }
    const move = keys[event.key]
    if (move === undefined) return
    event.preventDefault()
    move()
    onMove()
  })
}
