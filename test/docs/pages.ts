/** The pages that people read: all Markdown of the repository's root, docs/, the packages and the examples. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT: string = join(import.meta.dirname, '../..')

export interface Page {
  readonly path: string
  readonly text: string
  /** A script wrote it, as its first lines say: nobody edits it, and its blocks are what programs printed. */
  readonly generated: boolean
}

export const PAGES: readonly Page[] = globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'examples/*/*.md'], {
  cwd: ROOT,
})
  .sort()
  .map(path => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { path, text, generated: /^(?:.*\n){0,4}Written by `/.test(text) }
  })
