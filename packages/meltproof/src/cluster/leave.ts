/** What a process takes with it from the folders in which it has met others. */
const takes: (() => void)[] = []

/** Once, when the process ends by itself, or leaves before a signal ends it: then there is no `exit`. */
export function whenLeaving(take: () => void): void {
  if (takes.length === 0) process.once('exit', leave)
  takes.push(take)
}

export function leave(): void {
  for (const take of takes.splice(0)) {
    try {
      take()
    } catch {
      // Others still use the folder.
    }
  }
}
