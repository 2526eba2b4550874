/**
 * Links of the documents on the site. A README becomes the index of its folder. A link to a file that is no page of the
 * site (a result, a configuration, a source) leads to GitHub. A target that does not exist is an error.
 */
import { existsSync } from 'node:fs'
import { dirname, join, matchesGlob, relative } from 'node:path'

/** The part of VitePress's renderer (markdown-it) that we use. Its own types are installed only in site/. */
interface Renderer {
  readonly renderer: { readonly rules: Record<string, Rule | undefined> }
}
type Rule = (tokens: Token[], index: number, options: unknown, env: { path: string }, self: unknown) => string
interface Token {
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

/** Maps a file of the repository to its page on the site, where their paths differ. */
export const PAGES: Readonly<Record<string, string>> = { 'README.md': 'index.md', 'docs/README.md': 'docs/index.md' }

export function siteLinks(md: Renderer, root: string, github: string): void {
  const next = md.renderer.rules.link_open!
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const token = tokens[i]!
    const href = token.attrGet('href')
    if (href !== null && !/^(?:[a-z]+:|#)/.test(href)) {
      token.attrSet('href', siteLink(root, github, relative(root, env.path), href))
    }
    return next(tokens, i, options, env, self)
  }
}

/** `from` and the result are relative to the root of the repository; `href` is as in the document. */
export function siteLink(root: string, github: string, from: string, href: string): string {
  const [path, heading] = href.split('#', 2) as [string, string?]
  const target = join(dirname(from), path)
  if (!existsSync(join(root, target))) throw new Error(`${from} links to ${href}, which does not exist`)
  const hash = heading === undefined ? '' : `#${heading}`
  if (!matchesGlob(target, '{*,docs/**/*}.md')) return `${github}/${target}${hash}`
  return `/${PAGES[target] ?? target}${hash}`
}
