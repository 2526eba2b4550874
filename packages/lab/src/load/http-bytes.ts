/** Reads bytes of an HTTP head without creating strings. Pure. */

export const CR = 13
export const LF = 10
export const SPACE = 32
export const TAB = 9
export const COLON = 58

/** RFC 9110 `tchar`: the characters of a header's name. */
export const NAME_CHARACTER: Uint8Array = new Uint8Array(256)
for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
  NAME_CHARACTER[character.charCodeAt(0)] = 1
}

export const isDigit = (byte: number): boolean => byte >= 48 && byte <= 57

export const hexValue = (byte: number): number => {
  if (isDigit(byte)) return byte - 48
  const lower = byte | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/** True if `bytes[start, end)` equals `word` (in lower case), ignoring case. */
export const isWord = (bytes: Uint8Array, start: number, end: number, word: string): boolean => {
  if (end - start !== word.length) return false
  for (let i = 0; i < word.length; i++) {
    const byte = bytes[start + i]!
    if ((byte >= 65 && byte <= 90 ? byte | 32 : byte) !== word.charCodeAt(i)) return false
  }
  return true
}

export const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, Math.min(end, start + 60))).replace(/[^ -~]/g, '?')

/** Calls `visit` with the bounds of every token of a comma-separated list. */
export const eachToken = (
  bytes: Uint8Array,
  from: number,
  to: number,
  visit: (start: number, end: number) => void,
): void => {
  let start = from
  for (let at = from; at <= to; at++) {
    if (at < to && bytes[at] !== 44) continue
    let end = at
    while (start < end && (bytes[start] === SPACE || bytes[start] === TAB)) start++
    while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--
    if (end > start) visit(start, end)
    start = at + 1
  }
}
