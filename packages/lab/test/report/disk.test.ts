/** A full disk when the report is written: the measurements are kept. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeOrKeep } from '../../src/commands/carry-out.ts'
import type { WriteFile } from '../../src/report/write.ts'
import { UserError } from '../../src/user-error.ts'
import { madeResult } from './made-result.ts'

/** Writes only half of each file for which `isFull` is true, like a full disk. */
const fullFor =
  (isFull: (file: string) => boolean): WriteFile =>
  (file, text) => {
    if (!isFull(file)) return writeFileSync(file, text)
    writeFileSync(file, text.slice(0, text.length / 2))
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  }

function failure(t: TestContext, isFull: (file: string, out: string) => boolean): { said: string; out: string } {
  const out = mkdtempSync(path.join(tmpdir(), 'meltlab-disk-'))
  t.after(() => rmSync(out, { recursive: true, force: true }))
  try {
    writeOrKeep(
      madeResult(),
      out,
      fullFor(file => isFull(file, out)),
    )
  } catch (error) {
    assert.ok(error instanceof UserError)
    assert.equal(error.exitCode, 1)
    assert.ok(error.message.startsWith(`the report could not be written to ${out} (the disk is full); `), error.message)
    return { said: error.message, out }
  }
  return assert.fail('it was written')
}

const fileIn = (said: string): string => /the result is in (.+\.json): `meltlab report /.exec(said)![1]!

test('if only the page cannot be written, the result is kept beside it and the partial page is removed', t => {
  const { said, out } = failure(t, file => file.endsWith('.html'))
  const file = fileIn(said)
  assert.ok(file.startsWith(out))
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), madeResult())
  assert.deepEqual(readdirSync(path.dirname(file)).sort(), ['picture.svg', 'result.json'])
})

test('if the output folder is full, the result goes to the temporary directory', t => {
  const { said, out } = failure(t, (file, folder) => file.startsWith(folder))
  const file = fileIn(said)
  t.after(() => rmSync(file, { force: true }))
  assert.ok(!file.startsWith(out))
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), madeResult())
})

test('if every disk is full, the result is printed on stdout and no partial file remains', t => {
  const written: string[] = []
  const { mock } = t.mock.method(process.stdout, 'write', (text: string) => written.push(text) > 0)
  const { said } = failure(t, () => true)
  mock.restore()
  assert.match(said, /the whole result is on stdout, as JSON$/)
  assert.ok(written.some(text => text === `${JSON.stringify(madeResult())}\n`))
  assert.ok(!existsSync(path.join(tmpdir(), '2026-01-02T03-04-05-made-up.json')))
})
