/** Makes client input safe to log: it cannot end the line, move a cursor or change the writing direction. Pure. */

/** C0, DEL, C1, line and paragraph separators, writing direction marks, byte order mark, lone surrogates. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
  /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Writes unsafe characters as `\x0a` or `\u2028`. Text longer than `most` characters ends in an ellipsis. */
export function safeText(text: string, most: number): string {
  const short = text.length > most ? `${text.slice(0, most - 1)}…` : text
  return short.replace(UNSAFE, character => {
    const code = character.charCodeAt(0).toString(16)
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`
  })
}
