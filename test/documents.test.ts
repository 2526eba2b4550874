/** The documents say what the code does: what can be checked mechanically is. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ERROR_CODES } from '../packages/meltproof/src/errors.ts'
import { PROBES, VARIABLES } from '../packages/meltproof/src/register-options.ts'

const read = (file: string): string => readFileSync(file, 'utf8')

test('the first screen of the README has the two commands', () => {
  const firstScreen = read('README.md').split('\n').slice(0, 40).join('\n')
  assert.match(firstScreen, /npm ci && npm run demo/)
  assert.match(firstScreen, /npm ci && npm test/)
})

test('every npm script that a document names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const file of globSync(['*.md', 'docs/**/*.md'])) {
    for (const [, name] of read(file).matchAll(/npm run ([a-z][a-z0-9:-]*)/g)) {
      assert.ok(name! in scripts, `${file} names 'npm run ${name}', which package.json does not have`)
    }
  }
})

test('every relative link in a document leads somewhere', () => {
  for (const file of globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'examples/*/*.md'])) {
    for (const [, target] of read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)) {
      assert.ok(existsSync(join(dirname(file), target!)), `${file} links to ${target}, which does not exist`)
    }
  }
})

test('every link to a heading finds it', () => {
  const slugs = (file: string): string[] =>
    [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    )
  for (const file of globSync(['*.md', 'docs/**/*.md'])) {
    for (const [, target, heading] of read(file).matchAll(/\]\(([\w./-]*\.md)?#([^)\s]+)\)/g)) {
      const at = target === undefined ? file : join(dirname(file), target)
      assert.ok(slugs(at).includes(heading!), `${file} links to #${heading} of ${at}, which has no such heading`)
    }
  }
})

test('every error code is documented', () => {
  const docs = globSync(['docs/**/*.md', 'packages/meltproof/README.md']).map(read).join('\n')
  for (const name of Object.keys(ERROR_CODES)) assert.ok(docs.includes(name), `${name} is in no document`)
})

test('docs/register.md has the variables of meltproof/register, and the probes it exempts', () => {
  const page = read('docs/register.md')
  const documented = [...page.matchAll(/^\| `(MELTPROOF\w*)` \|/gm)].map(([, name]) => name)
  assert.deepEqual(documented.sort(), [...VARIABLES].sort())
  for (const probe of PROBES) assert.ok(page.includes(`\`${probe}\``), `${probe} is missing`)
})

test('every path that ARCHITECTURE.md names exists', () => {
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
