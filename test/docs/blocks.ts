/** The fenced code blocks of a Markdown text, including indented ones in lists. Pure. */
export interface Block {
  readonly language: string
  readonly code: string
  /** Line of the opening fence, from 1. */
  readonly line: number
}

export function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const [, indent, fence, language] = /^( *)(`{3,})(\S*)/.exec(lines[i]!) ?? []
    if (fence === undefined) continue
    const start = i
    const code: string[] = []
    for (i++; i < lines.length && lines[i]!.trim() !== fence; i++) code.push(lines[i]!.slice(indent!.length))
    if (i === lines.length) throw new Error(`the block of line ${start + 1} has no end`)
    blocks.push({ language: language!, code: code.join('\n'), line: start + 1 })
  }
  return blocks
}
