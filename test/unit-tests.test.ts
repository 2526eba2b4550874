/** Unit tests are recognised by the modules they load. */
import assert from 'node:assert/strict'
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { showsTheSame, whyNotUnit } from '../scripts/unit-tests.ts'

/** The result of `ask` for `test/a.test.ts` among these files. */
function asked<T>(files: Readonly<Record<string, string>>, ask: (testFile: string, folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'unit-tests-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    return ask(join(folder, 'test/a.test.ts'), folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The reason why it is not a unit test, without the path of the folder. */
const reason = (files: Readonly<Record<string, string>>): string | undefined =>
  asked(files, (testFile, folder) => whyNotUnit(testFile)?.replaceAll(`${folder}/`, ''))

const ofTest = (text: string): string | undefined => reason({ 'test/a.test.ts': text })

test('a test that loads only pure code is a unit test, even with types of other modules', () => {
  const pure = {
    'test/a.test.ts': `import fc from 'fast-check'
import { test } from 'node:test'
import type { Server } from 'node:http'
import { type Socket } from 'node:net'
import { a } from '../src/a.ts' // 'node:net'
/* setTimeout() */`,
    'src/a.ts': `import type {\n  Agent,\n} from 'node:https'\nexport const a = () => setTimeout(() => {}, 1)`,
  }
  assert.equal(reason(pure), undefined)
})

test('a test is not a unit test if a file it loads indirectly imports node:net', () => {
  const files = {
    'test/a.test.ts': `import { b } from '../src/b.ts'`,
    'src/b.ts': `import './c.ts'`,
    'src/c.ts': `export {\n  connect,\n  type Socket,\n} from 'node:net'`,
  }
  assert.equal(reason(files), 'test/a.test.ts > src/b.ts > src/c.ts > node:net')
})

test('a test with processes, threads, packages or waits is not a unit test', () => {
  assert.equal(ofTest(`import { spawn } from 'node:child_process'`), 'test/a.test.ts > node:child_process')
  assert.equal(ofTest(`const { Worker } = await import('node:worker_threads')`), 'test/a.test.ts > node:worker_threads')
  assert.equal(ofTest(`import pg from 'pg'`), 'test/a.test.ts > pg')
  assert.equal(ofTest(`await new Promise(resolve => setTimeout(resolve, 5))`), 'test/a.test.ts waits')
  assert.equal(
    ofTest(`import { setTimeout as sleep } from 'node:timers/promises'`),
    'test/a.test.ts > node:timers/promises',
  )
  assert.equal(ofTest(`await fetch('http://127.0.0.1')`), 'test/a.test.ts waits')
  assert.equal(ofTest(`const require = createRequire(import.meta.url)`), 'test/a.test.ts requires')
})

test('a test whose helper waits is not a unit test', () => {
  const files = { 'test/a.test.ts': `import './helper.ts'`, 'test/helper.ts': `setInterval(() => {}, 5)` }
  assert.equal(reason(files), 'test/helper.ts waits')
})

test('showsTheSame() is false for a unit test that calls Node, itself or in a file it loads', () => {
  const same = (source: string, ofTest = '', path = 'src/a.ts'): boolean =>
    asked(
      { 'test/a.test.ts': `import { test } from 'node:test'\nimport '../${path}'\n${ofTest}`, [path]: source },
      showsTheSame,
    )
  assert.equal(same(`import type { Server } from 'node:http'`, `import assert from 'node:assert/strict'`), true)
  assert.equal(same(`import { performance } from 'node:perf_hooks'`), false)
  assert.equal(same(`import { performance } from 'node:perf_hooks'`, '', 'sim/a.ts'), true, 'a simulation')
  assert.equal(same('', `import http from 'node:http'`), false, 'it is no unit test')
  assert.equal(same('', `import http from 'node:http'`, 'sim/a.ts'), false, 'nor is that a simulation')
})

test('showsTheSame() is true for tests that prove a check finds faults, and for long ones independent of Node', () => {
  const same = (name: string): boolean => showsTheSame(`packages/meltproof/test/${name}.test.ts`)
  const found = globSync('packages/meltproof/test/**/*.test.ts').map(file => file.slice(24, -'.test.ts'.length))
  for (const name of [
    ...['fuzz/finds', 'databases/cleanup-pg', 'server/long-requests', 'haproxy/cluster', 'observe/prometheus'],
    'outbound/adaptive-refusals',
  ]) {
    assert.ok(found.includes(name) && same(name), name)
  }
  for (const name of ['databases/pg', 'server/drain', 'observe/otel', 'signals/memory', 'outbound/install']) {
    assert.ok(found.includes(name) && !same(name), name)
  }
})
