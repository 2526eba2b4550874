/** A test file that would hang for ever is ended, and its name is reported. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const GUARD = join(import.meta.dirname, '../scripts/end-of-test-file.ts')
const folder = mkdtempSync(join(tmpdir(), 'meltproof-end-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function run(body: string, env: Record<string, string>) {
  const file = join(folder, 'planted.test.mjs')
  writeFileSync(file, `import http from 'node:http'\nimport { test } from 'node:test'\n${body}`)
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env
  const flags = ['--experimental-strip-types', '--no-warnings', '--import', GUARD]
  return spawnSync(process.execPath, [...flags, file], { encoding: 'utf8', env: { ...rest, ...env }, timeout: 120_000 })
}

test('a file whose failed test left a server open is ended, and says what held it', () => {
  const body = "test('fails', () => { http.createServer().listen(0); throw new Error('mine') })"
  const { status, stdout, stderr } = run(body, { TEST_FILE_END_MS: '200' })
  assert.equal(status, 1)
  assert.match(stdout, /✖ fails|not ok 1 - fails/)
  assert.match(
    stderr,
    /planted\.test\.mjs was still open after its last test, and was ended. Held by: .*1 TCPServerWrap/,
  )
})

test('a file whose tests passed but left a server open fails', () => {
  const { status } = run("test('passes', () => void http.createServer().listen(0))", { TEST_FILE_END_MS: '200' })
  assert.equal(status, 1)
})

test('a file with a test that never ends is ended, and named', () => {
  const body = "test('waits', async () => { http.createServer().listen(0); await new Promise(() => {}) })"
  const { status, stderr } = run(body, { TEST_FILE_MS: '2000' })
  assert.equal(status, 1)
  assert.match(stderr, /planted\.test\.mjs did not end within 2 s, and was ended/)
})

test('a file that ends by itself is left alone', () => {
  const { status, stderr } = run("test('passes', () => {})", {})
  assert.deepEqual([status, stderr], [0, ''])
})
