/** The load while it runs: two lines rewritten in place on a terminal, a plain line every few seconds elsewhere. */
import type { LoadProgress } from '../load/plan.ts'

/** Into a file or a pipe, a line this often is enough. */
const PLAIN_EVERY_MS = 5000

export interface LiveView {
  show(progress: LoadProgress): void
  /** Clears what was written in place. */
  end(): void
}

/** Where the view goes: `process.stderr`, or something like it in a test. */
export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, times) => sum + times, 0)

const list = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, times]) => `${name} ${times.toLocaleString('en-US')}`)
    .join('  ')

export const liveView = (screen: Screen): LiveView => {
  let before: LoadProgress | undefined
  let plainAt = PLAIN_EVERY_MS
  let drawn = false

  const lines = (now: LoadProgress): [string, string] => {
    const seconds = Math.max(1, now.elapsedMs - (before?.elapsedMs ?? 0)) / 1000
    const per = (read: (progress: LoadProgress) => number): string =>
      `${Math.round((read(now) - (before === undefined ? 0 : read(before))) / seconds).toLocaleString('en-US')}/s`
    const clock = `${(now.elapsedMs / 1000).toFixed(0)}s of ${(now.totalMs / 1000).toFixed(0)}s`
    return [
      `${clock}  scheduled ${per(progress => progress.scheduled)}  answered ${per(progress => total(progress.answered))}  good ${per(progress => progress.good)}  in flight ${now.inflight.toLocaleString('en-US')}`,
      [list(now.answered), list(now.failed as Record<string, number>)].filter(part => part !== '').join('  ') ||
        'no answer yet',
    ]
  }
  const clear = (): void => {
    if (drawn) screen.write('\x1b[2A\x1b[J')
    drawn = false
  }
  return {
    show: progress => {
      if (screen.isTTY === true) {
        const width = (screen.columns ?? 80) - 1
        const text = lines(progress).map(line => line.slice(0, width))
        clear()
        screen.write(`${text.join('\n')}\n`)
        drawn = true
      } else if (progress.elapsedMs >= plainAt) {
        screen.write(`${lines(progress).join('  ')}\n`)
        while (plainAt <= progress.elapsedMs) plainAt += PLAIN_EVERY_MS
      } else {
        return
      }
      before = progress
    },
    end: clear,
  }
}
