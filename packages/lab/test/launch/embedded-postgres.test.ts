/** Started by root, PostgreSQL runs although its data, or a whole checkout, lie in a closed temporary folder. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openToPostgres } from '../../src/launch/embedded-postgres.ts'
import { freePort } from '../../src/launch/free-port.ts'

const passes = (path: string): boolean => (statSync(path).mode & 0o001) !== 0

/** A folder that only this user may enter, and one in it. */
function closedFolder(t: TestContext): { folder: string; inner: string } {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-closed-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const inner = join(folder, 'checkout')
  mkdirSync(inner)
  chmodSync(inner, 0o755)
  return { folder, inner }
}

test('root opens a closed temporary folder for the time of the tests, and no other folder', t => {
  const { folder, inner } = closedFolder(t)
  const said: string[] = []
  const close = openToPostgres(inner, text => said.push(text))
  assert.equal(passes(folder), process.getuid?.() === 0)
  close()
  assert.equal(passes(folder), false)
  assert.deepEqual(said, [])
})

test('a scenario starts PostgreSQL with its data in such a folder, and closes the folder again', {
  timeout: 120_000,
}, async t => {
  const { folder, inner } = closedFolder(t)
  const port = await freePort()
  const app = fileURLToPath(new URL('../../apps/postgres.js', import.meta.url))
  const child = spawn(process.execPath, [app], {
    env: { ...process.env, PORT: String(port), DATA_DIR: join(inner, 'data') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
  })
  const ended = once(child, 'exit')
  let answer: unknown
  while (answer === undefined) {
    assert.equal(child.exitCode, null, said)
    answer = await fetch(`http://127.0.0.1:${port}/`).then(
      response => response.json(),
      () => sleep(100),
    )
  }
  assert.equal((answer as { running: number }).running, 0)
  child.kill('SIGTERM')
  await ended
  assert.equal(passes(folder), false)
})
