/** All Markdown pages of the root, docs/, the packages and the examples. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT: string = join(import.meta.dirname, '../..')

export interface Page {
  readonly path: string
  readonly text: string
  /** Written by a script, as its first lines say. Never edited by hand; its blocks are the output of programs. */
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
