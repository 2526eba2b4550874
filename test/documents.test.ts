/** The documents match the code, where this can be checked mechanically. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { CAUSES } from '../packages/lab/src/audit/causes.ts'
import { githubSlug } from '../site/github-slug.ts'
import { PAGES } from './docs/pages.ts'

const read = (file: string): string => readFileSync(file, 'utf8')

test('every npm script named in a document exists', () => {
  const scripts = Object.assign(
    {},
    ...globSync(['package.json', 'examples/*/package.json']).map(file => JSON.parse(read(file)).scripts ?? {}),
  ) as Record<string, string>
  for (const file of globSync(['*.md', 'docs/**/*.md'])) {
    for (const [, name] of read(file).matchAll(/npm run ([a-z][a-z0-9:-]*)/g)) {
      assert.ok(name! in scripts, `${file} names 'npm run ${name}', which package.json does not have`)
    }
  }
})

test('every relative link in a document leads to an existing file', () => {
  for (const file of globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'examples/*/*.md'])) {
    for (const [, target] of read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)) {
      assert.ok(existsSync(join(dirname(file), target!)), `${file} links to ${target}, which does not exist`)
    }
  }
})

test('the moving picture of live is a GIF below 1 MB, and in both READMEs', () => {
  const picture = readFileSync('docs/images/live.gif')
  assert.equal(picture.toString('latin1', 0, 6), 'GIF89a')
  assert.ok(picture.length < 1e6, `${picture.length} bytes`)
  for (const file of ['README.md', 'README.zh-CN.md']) assert.match(read(file), /\(docs\/images\/live\.gif\)/, file)
})

test('every link to a heading leads to an existing one', () => {
  const slugs = (file: string): string[] =>
    [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title]) => githubSlug(title!))
  for (const file of globSync(['*.md', 'docs/**/*.md'])) {
    for (const [, target, heading] of read(file).matchAll(/\]\(([\w./-]*\.md)?#([^)\s]+)\)/g)) {
      const at = target === undefined ? file : join(dirname(file), target)
      assert.ok(slugs(at).includes(heading!), `${file} links to #${heading} of ${at}, which has no such heading`)
    }
  }
})

test('no page except generated ones is longer than 150 lines', () => {
  const long = PAGES.filter(({ path }) => path !== 'CHANGELOG.md').map(({ path, text, generated }) => ({
    path,
    generated,
    lines: text.split('\n').length - 1,
  }))
  assert.deepEqual(
    long.filter(({ generated, lines }) => !generated && lines > 150),
    [],
  )
  assert.ok(long.filter(({ generated }) => generated).length >= 9, 'a generated page has lost its "Written by"')
})

test('every path named in ARCHITECTURE.md exists', () => {
  const roots = ['.', 'packages/meltproof', 'packages/meltproof/src']
  const named = [...read('ARCHITECTURE.md').matchAll(/`([\w@./-]+(?:\/|\.(?:ts|js|mjs|md|json)))`/g)].map(
    match => match[1]!,
  )
  assert.ok(named.length > 30, `${named.length} paths`)
  assert.deepEqual(
    named.filter(path => !roots.some(root => existsSync(join(root, path)))),
    [],
  )
})

test('docs/audit.md has the causes that meltlab audit finds, with their severity', () => {
  const documented = [...read('docs/audit.md').matchAll(/^\| `([\w-]+)` \| (\w+) \|/gm)].map(([, cause, how]) => [
    cause,
    how,
  ])
  assert.deepEqual(
    Object.fromEntries(documented),
    Object.fromEntries(Object.entries(CAUSES).map(([cause, { severity }]) => [cause, severity])),
  )
})
