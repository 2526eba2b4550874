/** The progress of a long run, on stderr: one line rewritten on a terminal, elsewhere a line per finished step. */
import { formatDuration } from './durations.ts'
import type { LoadProgress } from './load/plan.ts'
import { formatCount, formatRate } from './report/format.ts'
import { wrapWords } from './report/wrap-words.ts'
import type { Standing } from './report/result.ts'
import { type Out, paintOn, widthOf } from './terminal.ts'

export interface Progress {
  /** Shows the current activity until the next call. Terminals only. */
  status(text: string): void
  /** Prints a permanent line. `tone` colours its signs and bars. */
  line(text: string, tone?: Tone): void
  /** Removes the status. */
  clear(): void
}

type Tone = Standing['tone']

const eraseLine = '\r\u001b[2K'
/** Matches a sign, or the filled part of a bar. */
const COLOURED = /[✓✗]|█+/g
const COLOURS = { good: 'green', fair: 'yellow', bad: 'red', none: 'dim' } as const

export function progressOn(out: Out): Progress {
  const paint = paintOn(out)
  const coloured = (text: string, tone: Tone): string => text.replace(COLOURED, part => paint(COLOURS[tone], part))
  // Continuation lines are indented.
  const kept = (text: string, tone: Tone): string =>
    text
      .split('\n')
      .map(each => wrapWords(each, widthOf(out) - INDENT.length).join(`\n${INDENT}`))
      .map(each => `${coloured(each, tone)}\n`)
      .join('')
  let shown = false
  /** Writes in place of the status. */
  const write = (text: string, isStatus = false): void => {
    out.write((shown ? eraseLine : '') + text)
    shown = isStatus
  }
  return {
    status(text) {
      if (out.isTTY !== true) return
      // A line longer than the terminal would wrap, and could not be erased.
      write(coloured(text.slice(0, widthOf(out) - 1), 'good'), true)
    },
    line: (text, tone = 'good') => write(kept(text, tone)),
    clear() {
      if (shown) write('')
    },
  }
}

const INDENT = '    '

/** A status that is rewritten in place on a terminal, or printed as a line at intervals elsewhere. */
export function repeating(
  progress: Progress,
  out: Pick<Out, 'isTTY'>,
  everyMs: number,
): (text: string, atMs: number) => void {
  let nextMs = everyMs
  return (text, atMs) => {
    progress.status(text)
    if (out.isTTY === true || atMs < nextMs) return
    progress.line(text)
    nextMs = atMs + everyMs
  }
}

/** The status of a load, from its progress. `offered`: the load, if the label does not say it. */
export function liveLine(label: string, offered?: string): (seen: LoadProgress) => string {
  let before = { good: 0, elapsedMs: 0 }
  return seen => {
    const { elapsedMs, totalMs } = seen
    const lengthS = (elapsedMs - before.elapsedMs) / 1000
    const good = lengthS > 0 ? (seen.good - before.good) / lengthS : 0
    before = seen
    const clock =
      elapsedMs > totalMs ? 'the last answers' : `${(elapsedMs / 1000).toFixed(0)} s of ${formatDuration(totalMs)}`
    return [
      `${label}  ${bar(elapsedMs / totalMs, 10)} ${clock}`,
      ...(offered === undefined ? [] : [offered]),
      `good ${formatRate(good)}/s`,
      `in flight ${formatCount(seen.inflight)}`,
      ...Object.entries({ ...seen.answered, ...seen.failed }).map(([name, times]) => `${name} ${formatCount(times)}`),
    ].join('  ')
  }
}

/** Such as `███████░░░`. Pure. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(filled) + '░'.repeat(width - filled)
}
