/** Functions that remove this process from the folders in which it meets others. */
const takes: (() => void)[] = []

/** Runs `take` once: when the process ends by itself, or before a signal ends it without an `exit` event. */
export function whenLeaving(take: () => void): void {
  if (takes.length === 0) process.once('exit', leave)
  takes.push(take)
}

export function leave(): void {
  for (const take of takes.splice(0)) {
    try {
      take()
    } catch {
      // The folder is not empty: others still use it.
    }
  }
}
