/** A space where text may break, but not between a number and its unit. */
const BLANK = / (?!(?:%|m?s|MB)(?!\w))|(?<!\d) /

/** Breaks text at spaces into lines of at most `limit` characters; a longer word gets its own line. Pure. */
export function wrapWords(text: string, limit: number): string[] {
  const lines: string[] = []
  for (const word of text.split(BLANK)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= limit) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
