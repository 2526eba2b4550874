/**
 * Tells a person what a long run is doing: one line rewritten in place on a terminal, and a plain line per finished
 * piece of work everywhere. Writes to stderr only, so that stdout stays the result's.
 */

export interface Progress {
  /** What happens right now; the next call replaces it. Shown on terminals only. */
  status(text: string): void
  /** Something worth keeping. */
  line(text: string): void
  /** Removes the status. */
  clear(): void
}

interface Out {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const eraseLine = '\r\u001b[2K'

export function progressOn(out: Out): Progress {
  if (out.isTTY !== true) {
    return { status() {}, line: text => void out.write(`${text}\n`), clear() {} }
  }
  let shown = false
  const erase = (): string => (shown ? eraseLine : '')
  return {
    status(text) {
      // A line longer than the terminal would wrap and could not be erased.
      out.write(erase() + text.slice(0, (out.columns ?? 80) - 1))
      shown = true
    },
    line(text) {
      out.write(`${erase()}${text}\n`)
      shown = false
    },
    clear() {
      out.write(erase())
      shown = false
    },
  }
}

/** A status that is rewritten in place on a terminal; elsewhere it is a line of its own every so often. */
export function repeating(progress: Progress, out: Out, everyMs: number): (text: string, atMs: number) => void {
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
