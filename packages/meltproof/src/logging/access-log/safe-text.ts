/** Makes client input safe to log: it cannot end the line, move a cursor or change the writing direction. Pure. */

/** Controls (C0, DEL, C1), line and paragraph separators, writing direction marks, byte order mark, lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cs}\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

/** Writes unsafe characters as `\x0a` or `\u2028`. Text longer than `most` characters ends in an ellipsis. */
export function safeText(text: string, most: number): string {
  const short = text.length > most ? `${text.slice(0, most - 1)}…` : text
  return short.replace(UNSAFE, character => {
    const code = character.charCodeAt(0).toString(16)
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`
  })
}
