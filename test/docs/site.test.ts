/** The site is built from the unchanged documents. Tests what it reads from them, and where its links lead. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { githubSlug } from '../../site/github-slug.ts'
import { siteLink } from '../../site/links.ts'
import { groupsOf } from '../../site/sidebar.ts'
import { ROOT } from './pages.ts'

const link = (from: string, href: string): string => siteLink(ROOT, 'https://forge', from, href)

test('a link leads to a page of the site or to the forge', () => {
  assert.equal(link('docs/faq.md', 'deploy/haproxy.md'), '/docs/deploy/haproxy.md')
  assert.equal(link('docs/deploy/envoy.md', '../README.md#experimental'), '/docs/index.md#experimental')
  assert.equal(link('README.zh-CN.md', 'README.md'), '/index.md')
  assert.equal(link('docs/faq.md', '../bench/results/drain.txt'), 'https://forge/bench/results/drain.txt')
  assert.equal(link('ARCHITECTURE.md', 'packages/meltproof/README.md'), 'https://forge/packages/meltproof/README.md')
})

test('a link to a missing file fails the build', () => {
  assert.throws(() => link('docs/faq.md', 'nothing.md'), /docs\/faq\.md links to nothing\.md, which does not exist/)
})

test('the sidebar has the headings of docs/README.md, and reaches all pages', () => {
  const groups = groupsOf(readFileSync(join(ROOT, 'docs/README.md'), 'utf8'))
  assert.deepEqual(
    groups.map(({ text }) => text),
    ['First', 'Tasks', 'Reference', 'Background and measurements'],
  )
  const shown = new Set(groups.flatMap(({ pages }) => pages))
  const pages = globSync(['*.md', 'deploy/*.md'], { cwd: join(ROOT, 'docs') })
  const reachedFrom = new Set(
    [...shown].flatMap(page =>
      [...readFileSync(join(ROOT, 'docs', page), 'utf8').matchAll(/\]\(([\w./-]+\.md)/g)].map(([, target]) => target!),
    ),
  )
  const missing = pages.filter(page => page !== 'README.md' && !shown.has(page) && !reachedFrom.has(page))
  assert.deepEqual(missing, [])
})

test('headings have the same ids as on GitHub', () => {
  assert.equal(githubSlug('3. The queue alone sheds'), '3-the-queue-alone-sheds')
  assert.equal(githubSlug('`protect(server)`: options'), 'protectserver-options')
})
