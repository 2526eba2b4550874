/** A space where text may break, but not between a number and its unit. */
const BLANK = / (?!(?:%|m?s|MB)(?!\w))|(?<!\d) /

/** Breaks text at spaces into lines of at most `limit` characters; a longer word gets its own line. Pure. */
export const wrapWords = (text: string, limit: number): string[] => packed(text.split(BLANK), ' ', limit)

/** Puts as many items into each line of at most `limit` characters as fit. */
export function packed(items: readonly string[], gap: string, limit: number): string[] {
  const lines: string[] = []
  for (const item of items) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + gap.length + item.length <= limit) {
      lines[lines.length - 1] = `${last}${gap}${item}`
    } else {
      lines.push(item)
    }
  }
  return lines
}
