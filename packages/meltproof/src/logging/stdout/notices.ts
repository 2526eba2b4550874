/** What meltproof writes into a log stream itself, in words. Pure; every notice is one line and ends in a newline. */

export type NoticeForm = 'text' | 'json'

/** In the place of lines that were lost. */
export function gapNotice(lines: number, form: NoticeForm, timeMs: number): string {
  const text = `meltproof: ${lines} ${lines === 1 ? 'line' : 'lines'} lost here, logged faster than read`
  return form === 'text' ? `${text}\n` : `${jsonNotice(text, lines, timeMs)}\n`
}

/** Ends a line whose first part was written already. The line counts as lost in the gap that follows. */
export const CUT_NOTICE = ' [meltproof: the rest of this line is lost]\n'

/** What is left to say at the end, when the stream itself does not take it. */
export function lastNotice(stream: string, lines: number): string {
  return `meltproof: ${lines} ${lines === 1 ? 'line' : 'lines'} of ${stream} lost, not read before the process ended\n`
}

/** Said once on the other stream, when something begins to go wrong. */
export function troubleNotice(stream: string, trouble: Trouble): string {
  return `meltproof: ${stream} ${SENTENCES[trouble.kind](trouble.detail)} The service goes on.\n`
}

export interface Trouble {
  readonly kind: 'slow' | 'failing'
  /** `failing`: the code of the error. */
  readonly detail: string
}

const SENTENCES: Readonly<Record<Trouble['kind'], (detail: string) => string>> = {
  slow: () =>
    'is read more slowly than it is written, or got a line longer than its buffer: whole lines are lost and counted.',
  failing: code =>
    `can not be written (${code}${MEANINGS[code] ?? ''}): lines wait while its buffer has room, then they are lost and counted.`,
}

const MEANINGS: Readonly<Record<string, string>> = {
  EPIPE: ', its reader has gone',
  ENXIO: ', it has no reader',
  EIO: ', its terminal has gone',
  ENOSPC: ', the disk is full',
  EDQUOT: ', the quota is used up',
  EFBIG: ', the file is as large as it may be',
  EBADF: ', it is closed',
}

/** The fields pino and its relatives use, so that what reads JSON lines reads this one too; 40 is their `warn`. */
function jsonNotice(text: string, lost: number, timeMs: number): string {
  return JSON.stringify({ level: 40, time: timeMs, msg: text, lost })
}
