/** Types and documents agree on which exports are stable and which are experimental. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'

const PACKAGE = 'packages/meltproof'

const STABLE = [
  ...['.', './register', './limiter', './deadline', './prometheus', './otel'],
  ...['./express', './fastify', './koa', './hono'],
]

const { exports } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}
const entries = Object.entries(exports).flatMap(([name, entry]) =>
  typeof entry === 'string'
    ? []
    : [{ name, file: join(PACKAGE, entry.default.replace(/^\.\/dist\/(.*)\.js$/, 'src/$1.ts')) }],
)

interface Declared {
  readonly name: string
  readonly comment: string
}

/** The exports of a file, wherever they are declared. */
function exportsOf(file: string): Declared[] {
  const text = readFileSync(file, 'utf8')
  const own = [...text.matchAll(/^export (?:async )?(?:function|class|interface|const|type) (\w+)/gm)]
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?/gm)]
  return [
    ...own.map(([, name]) => declared(file, name!)),
    ...listed.flatMap(([, names, from]) =>
      names!.split(',').map(each => {
        const name = each
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0]!
        const imported = from ?? new RegExp(`import [^']*\\b${name}\\b[^']*'(\\.[^']+)'`).exec(text)?.[1]
        return declared(imported === undefined ? file : join(dirname(file), imported), name)
      }),
    ),
  ]
}

function declared(file: string, name: string): Declared {
  const text = readFileSync(file, 'utf8')
  const at = new RegExp(`^(?:export )?(?:async )?(?:function|class|interface|const|type) ${name}\\b`, 'm').exec(text)
  assert.ok(at, `${name} is not declared in ${file}`)
  const comment = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n$/.exec(text.slice(0, at.index))?.[0] ?? ''
  return { name, comment }
}

const stable = new Set(
  entries.flatMap(({ name, file }) => (STABLE.includes(name) ? exportsOf(file).map(each => each.name) : [])),
)

describe('the exports of an entry', () => {
  for (const { name, file } of entries) {
    const isStable = STABLE.includes(name)
    test(`${name} is ${isStable ? 'stable' : 'experimental'}`, () => {
      const found = exportsOf(file)
      assert.ok(found.length > 0 || name === './register')
      for (const each of found) {
        // An error that a stable entry also exports is stable.
        if (!isStable && stable.has(each.name)) continue
        assert.equal(each.comment.includes('@experimental'), !isStable, `${each.name} of ${name}`)
      }
    })
  }
})

test('docs/README.md lists every entry as stable or experimental', () => {
  const [, text = ''] = readFileSync('docs/README.md', 'utf8').split('## Experimental')
  const [ofStable = '', ofExperimental = ''] = text.split('All other entries')
  const nameOf = (entry: string): string => (entry === '.' ? '`protect()`' : `${entry.slice(1)}\``)
  for (const { name } of entries) {
    const isStable = STABLE.includes(name)
    assert.deepEqual(
      [ofStable.includes(nameOf(name)), ofExperimental.includes(nameOf(name))],
      [isStable, !isStable],
      name,
    )
  }
})

test('docs/protect.md marks the experimental options of protect()', () => {
  const source = readFileSync(join(PACKAGE, 'src/server/protect-options.ts'), 'utf8')
  const inTypes = [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}readonly (\w+)\?/g)]
    .filter(([, comment]) => comment!.includes('@experimental'))
    .map(([, , name]) => name!)
  const page = readFileSync('docs/protect.md', 'utf8')
  const inDocs = [...page.matchAll(/^\| `(\w+)` \|.*\| \[Experimental\]/gm)].map(([, name]) => name!)
  assert.ok(inTypes.length > 0)
  assert.deepEqual(inTypes.sort(), inDocs.sort())
})

test('pages of experimental parts say so', () => {
  for (const page of ['outbound', 'retries', 'databases', 'stdout', 'access-log', 'deploy/haproxy']) {
    const file = `docs/${page}.md`
    assert.ok(existsSync(file))
    assert.match(readFileSync(file, 'utf8'), /^\[Experimental\]\((?:\.\.\/)?README\.md#experimental\)/m, file)
  }
})
