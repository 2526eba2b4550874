/** Functions that remove this process's files from folders that it shares with other processes. */
const takes: (() => void)[] = []

/** Runs `take` once: at the `exit` event, or at {@link leave}, for signals that end the process without that event. */
export function whenLeaving(take: () => void): void {
  if (takes.length === 0) process.once('exit', leave)
  takes.push(take)
}

export function leave(): void {
  for (const take of takes.splice(0)) {
    try {
      take()
    } catch {
      // The folder is not empty, because other processes still use it.
    }
  }
}
