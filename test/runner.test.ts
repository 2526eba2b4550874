/** The runner of the suite, on planted test files. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const RUNNER = join(import.meta.dirname, '../scripts/test.ts')
const root = mkdtempSync(join(tmpdir(), 'meltproof-runner-'))
after(() => rmSync(root, { recursive: true, force: true }))
let folders = 0

/** Runs unit tests: those need no build. */
function run(files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
  const cwd = join(root, String(folders++))
  mkdirSync(join(cwd, 'test'), { recursive: true })
  for (const [name, body] of Object.entries(files)) {
    writeFileSync(join(cwd, 'test', `${name}.test.ts`), `import { test } from 'node:test'\n${body}`)
  }
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env
  const options = { cwd, encoding: 'utf8', env: { ...rest, ...env }, timeout: 60_000, killSignal: 'SIGKILL' } as const
  return spawnSync(process.execPath, ['--experimental-strip-types', '--no-warnings', RUNNER, '--unit'], options)
}

const PASSES = "test('passes', () => {})"

test('a file that never prints, because its event loop never turns, is killed and named; the others run', () => {
  const { status, stdout, stderr } = run({ spins: 'for (;;);', passes: PASSES }, { TEST_FILE_MS: '3000' })
  assert.match(
    stderr,
    /^test\/spins\.test\.ts did not end within 3 s, and its event loop did not turn: it was killed$/m,
  )
  assert.match(stdout, /✔ passes/)
  assert.match(stdout, /✖ .*spins\.test\.ts/)
  assert.equal(status, 1)
})

test('a file that waits for nothing in vain, before any test, ends itself and is named', () => {
  const { status, stdout } = run(
    { waits: 'globalThis.setInterval(() => {}, 1000)\nawait new Promise(() => {})' },
    { TEST_FILE_MS: '3000' },
  )
  assert.match(stdout, /^test\/waits\.test\.ts did not end within 3 s, and was ended\. Held by: .*Timeout/m)
  assert.equal(status, 1)
})

test('what is skipped is counted at the end, by what it needs, and fails nothing', () => {
  const skip = (reason: string): string => `test('a', { skip: ${reason} }, () => {})\n`
  const files = { one: skip("'no haproxy'").repeat(2) + PASSES, two: skip("'no haproxy'") + skip('true') }
  const { status, stdout } = run(files)
  assert.match(stdout, /\nSKIPPED 4 \(.*\):\n {5}3 {2}no haproxy\n {5}1 {2}not for this system\n$/)
  assert.equal(status, 0)
})

test('a run in which nothing is skipped says nothing of it', () => {
  const { status, stdout } = run({ passes: PASSES })
  assert.doesNotMatch(stdout, /SKIPPED/)
  assert.equal(status, 0)
})
