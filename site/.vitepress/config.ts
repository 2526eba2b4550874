/**
 * The site shows README.md, docs/ and the other Markdown of the root unchanged. No page is written only for the site.
 * The sidebar comes from the index in docs/README.md. A link to a page that does not exist fails the build.
 */
import { join } from 'node:path'
import { defineConfig, type UserConfig } from 'vitepress'
import { githubSlug } from '../github-slug.ts'
import { PAGES, siteLinks } from '../links.ts'
import { sidebarOf } from '../sidebar.ts'

const ROOT = join(import.meta.dirname, '../..')
const GITHUB = 'https://github.com/meltproof/meltproof'

const config: UserConfig = defineConfig({
  title: 'meltproof',
  description: 'Adaptive load shedding for Node.js without thresholds',
  lang: 'en',
  // The path at which the site is served, such as /meltproof/ on GitHub Pages.
  base: process.env['SITE_BASE'] ?? '/',
  srcDir: ROOT,
  srcExclude: ['**/node_modules/**', '{apps,bench,deploy,examples,packages,runs,scripts,site,test}/**'],
  outDir: join(ROOT, 'site/dist'),
  cacheDir: join(ROOT, 'node_modules/.cache/vitepress'),
  rewrites: PAGES,
  lastUpdated: false,
  markdown: {
    anchor: { slugify: githubSlug },
    config: md => {
      md.use(siteLinks, ROOT, `${GITHUB}/blob/main`)
      // v-pre keeps Vue from evaluating text such as `{{seq}}`.
      md.renderer.rules.code_inline = (tokens, i) => `<code v-pre>${md.utils.escapeHtml(tokens[i]!.content)}</code>`
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'All documents', link: '/docs/' },
      { text: 'Changes', link: '/CHANGELOG' },
      { text: '简体中文', link: '/README.zh-CN' },
    ],
    sidebar: sidebarOf(join(ROOT, 'docs/README.md')),
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: GITHUB }],
  },
})

export default config
