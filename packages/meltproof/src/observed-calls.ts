/** Where whatever records the HTTP calls of the process registers itself, and those who want them recorded ask for it. */

type Observer = () => () => void

let observer: Observer | undefined
/** Of those who asked before there was an observer: what ends it for them. */
const early = new Set<{ stop(): void }>()

export function hasCallObserver(): boolean {
  return observer !== undefined
}

export function registerCallObserver(observe: Observer): void {
  observer = observe
  for (const waiting of early) waiting.stop = observe()
  early.clear()
}

/** Returns what ends it. */
export function observeCalls(): () => void {
  if (observer !== undefined) return observer()
  const waiting = { stop: () => void early.delete(waiting) }
  early.add(waiting)
  return () => waiting.stop()
}
