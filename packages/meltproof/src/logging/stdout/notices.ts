/** The lines that meltproof itself writes into a log stream. Pure; every notice is one line and ends in a newline. */

/** Written where lines were lost; as JSON among JSON lines. */
export function gapNotice(lines: number, asJson: boolean, timeMs: number): string {
  const text = `meltproof: ${counted(lines)} lost here, because the reader was too slow`
  // The field names of pino and similar loggers; 40 is their level `warn`.
  return asJson ? `${JSON.stringify({ level: 40, time: timeMs, msg: text, lost: lines })}\n` : `${text}\n`
}

/** Ends a line that was partly written. The line counts as lost in the next gap. */
export const CUT_NOTICE = ' [meltproof: the rest of this line was lost]\n'

/** Written to the other stream at the end of the process. */
export function lastNotice(stream: string, lines: number): string {
  return `meltproof: ${counted(lines)} of ${stream} lost, because the process ended before they were read\n`
}

/** Written to the other stream when lines begin to be lost, or when writes begin to fail with this error. */
export function troubleNotice(stream: string, error: Error | undefined): string {
  const trouble =
    error === undefined
      ? 'is read more slowly than it is written, or a line was longer than its buffer: whole lines are dropped and counted'
      : `cannot be written (${error.message}): lines wait while the buffer has room, then they are dropped and counted`
  return `meltproof: ${stream} ${trouble}. The service goes on.\n`
}

function counted(lines: number): string {
  return `${lines} ${lines === 1 ? 'line' : 'lines'}`
}
