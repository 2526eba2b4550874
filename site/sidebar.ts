/**
 * The sidebar of the site, from the index in docs/README.md. A table, or a paragraph that begins with bold words, is a
 * group; the first heading of the table, or the bold words, are its name. An entry has the title of its page.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface Group {
  readonly text: string
  /** Relative to the folder of the index. */
  readonly pages: readonly string[]
}

/** A group of VitePress's sidebar. */
interface SidebarGroup {
  text: string
  collapsed: boolean
  items: { text: string; link: string }[]
}

export function sidebarOf(file: string): SidebarGroup[] {
  return groupsOf(readFileSync(file, 'utf8')).map(({ text, pages }) => ({
    text,
    collapsed: false,
    items: pages.map(page => ({ text: titleOf(join(dirname(file), page)), link: `/docs/${page}` })),
  }))
}

export function groupsOf(index: string): Group[] {
  return index.split('\n\n').flatMap(block => {
    const [, paragraph, table] = /^(?:\*\*([\w ]+):\*\*|\| ([\w ]+) \|)/.exec(block) ?? []
    const text = paragraph ?? table
    const pages = [...block.matchAll(/\]\(([\w./-]+\.md)\)/g)].map(([, page]) => page!)
    if (text === undefined || pages.length === 0) return []
    return [{ text: text[0]!.toUpperCase() + text.slice(1), pages: [...new Set(pages)] }]
  })
}

function titleOf(page: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(page, 'utf8')) ?? []
  if (title === undefined) throw new Error(`${page} has no title`)
  return title.replaceAll('`', '')
}
