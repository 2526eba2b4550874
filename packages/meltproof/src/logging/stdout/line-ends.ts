/** Counts lines and bytes of log output, which is a string or bytes. Pure. */

export type Output = string | Uint8Array

export const NEWLINE = 10

export function byteLength(output: Output): number {
  return typeof output === 'string' ? Buffer.byteLength(output) : output.length
}

export function endsLine(output: Output): boolean {
  return (typeof output === 'string' ? output.charCodeAt(output.length - 1) : output[output.length - 1]) === NEWLINE
}

export function linesIn(output: Output): number {
  let lines = 0
  if (typeof output === 'string') {
    for (let at = output.indexOf('\n'); at !== -1; at = output.indexOf('\n', at + 1)) lines++
  } else {
    for (let at = output.indexOf(NEWLINE); at !== -1; at = output.indexOf(NEWLINE, at + 1)) lines++
  }
  return lines
}

/** Where to end a part: after whole lines within `most` bytes, or after one longer line. */
export function endOfPart(bytes: Uint8Array, from: number, most: number): number {
  if (bytes.length - from <= most) return bytes.length
  const end = bytes.lastIndexOf(NEWLINE, from + most - 1) + 1
  return end > from ? end : bytes.indexOf(NEWLINE, from) + 1 || bytes.length
}
