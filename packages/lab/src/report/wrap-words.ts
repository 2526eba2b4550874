/** Not between a number and its unit. */
const BLANK = / (?!(?:%|m?s|MB)(?!\w))|(?<!\d) /

/** Breaks text into lines of at most `limit` characters, at blanks; a longer word has a line of its own. Pure. */
export function wrapWords(text: string, limit: number): string[] {
  const lines: string[] = []
  for (const word of text.split(BLANK)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= limit) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
