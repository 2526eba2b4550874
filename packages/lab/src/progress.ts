/**
 * Tells a person what a long run is doing: one line rewritten in place on a terminal, and a plain line per finished
 * piece of work everywhere. Writes to stderr only, so that stdout stays the result's.
 */

import { wrapWords } from './report/wrap-words.ts'
import type { Standing } from './report/result.ts'
import { type Out, paintOn, widthOf } from './terminal.ts'

export interface Progress {
  /** What happens right now; the next call replaces it. Shown on terminals only. */
  status(text: string): void
  /** Something worth keeping. `tone` says how it went: what it marks or draws a bar of is coloured so. */
  line(text: string, tone?: Tone): void
  /** Removes the status. */
  clear(): void
}

type Tone = Standing['tone']

const eraseLine = '\r\u001b[2K'
/** A sign, or the filled part of a bar. */
const COLOURED = /[✓✗]|█+/g
const COLOURS = { good: 'green', fair: 'yellow', bad: 'red', none: 'dim' } as const

export function progressOn(out: Out): Progress {
  const width = (): number => widthOf(out)
  const paint = paintOn(out)
  const coloured = (text: string, tone: Tone): string => text.replace(COLOURED, part => paint(COLOURS[tone], part))
  // What follows a label that stands alone is indented below it.
  const kept = (text: string, tone: Tone): string =>
    text
      .split('\n')
      .map(each => wrapWords(each, width() - INDENT.length).join(`\n${INDENT}`))
      .map(each => `${coloured(each, tone)}\n`)
      .join('')
  if (out.isTTY !== true) {
    return { status() {}, line: (text, tone = 'good') => void out.write(kept(text, tone)), clear() {} }
  }
  let shown = false
  const erase = (): string => (shown ? eraseLine : '')
  return {
    status(text) {
      // A line longer than the terminal would wrap and could not be erased.
      out.write(erase() + coloured(text.slice(0, width() - 1), 'good'))
      shown = true
    },
    line(text, tone = 'good') {
      out.write(`${erase()}${kept(text, tone)}`)
      shown = false
    },
    clear() {
      out.write(erase())
      shown = false
    },
  }
}

const INDENT = '    '

/** A status that is rewritten in place on a terminal; elsewhere it is a line of its own every so often. */
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

/** Pure: `███████░░░` */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(filled) + '░'.repeat(width - filled)
}
