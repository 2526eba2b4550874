/** The socket of the protection check needs a folder for temporary files. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { startProtectionCheck } from '../../src/melt/protection-check.ts'
import { UserError } from '../../src/user-error.ts'

test('a TMPDIR that cannot be written, or whose path is too long for a socket, is reported in one sentence', async t => {
  const { TMPDIR } = process.env
  const base = mkdtempSync(path.join(tmpdir(), 'tmpdir-'))
  t.after(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
    rmSync(base, { recursive: true })
  })
  const long = path.join(base, 'x'.repeat(120))
  mkdirSync(long)
  for (const folder of ['/proc/nowhere', long]) {
    process.env['TMPDIR'] = folder
    await assert.rejects(startProtectionCheck(), error => {
      assert.ok(error instanceof UserError, String(error))
      assert.match(
        error.message,
        /^the folder for temporary files cannot be written \(.*\); set TMPDIR to a writable folder/,
      )
      return true
    })
  }
  assert.deepEqual(readdirSync(long), [])
})
