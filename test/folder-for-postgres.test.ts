/** The tests of a checkout in a closed temporary folder, started by root, can start PostgreSQL. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openToPostgres } from '../scripts/folder-for-postgres.ts'

const passes = (path: string): boolean => (statSync(path).mode & 0o001) !== 0

test('root opens a closed temporary folder during the tests, and no other folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-closed-'))
  const inner = join(folder, 'checkout')
  mkdirSync(inner)
  chmodSync(inner, 0o755)
  const said: string[] = []
  try {
    const close = openToPostgres(inner, text => said.push(text))
    assert.equal(passes(folder), process.getuid?.() === 0)
    close()
    assert.equal(passes(folder), false)
    assert.deepEqual(said, [])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
