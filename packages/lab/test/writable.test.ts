/** If results cannot be written, nothing is measured: the error comes first, instead of a lost run at the end. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkWritable } from '../src/commands/user-files.ts'
import { UserError } from '../src/user-error.ts'
import { runCli } from './run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'meltlab-writable-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'file')
writeFileSync(file, '')
const started = join(folder, 'started')
const command = ['--', process.execPath, '-e', `fs.writeFileSync(${JSON.stringify(started)}, '')`]

for (const [args, option] of [
  [['melt', '--out', join(file, 'runs'), ...command], '--out'],
  [['run', '--out', file, '--brief', 'ticks'], '--out'],
  [['run', '--out', folder, '--keep', file, '--brief', 'ticks'], '--keep'],
] as const) {
  test(`meltlab ${args[0]} refuses ${option} if a file is in the way, before it starts anything`, async () => {
    const { code, stdout, stderr } = await runCli(args)
    assert.match(
      stderr,
      new RegExp(
        `^meltlab: cannot write to ${file}.* \\(a file is in the way\\); name another folder with ${option}\n$`,
      ),
    )
    assert.equal(stderr.trim().split('\n').length, 1)
    assert.deepEqual([code, stdout, existsSync(started)], [2, '', false])
  })
}

test('checkWritable() creates the folder, and leaves nothing in it', () => {
  const deep = join(folder, 'a/b/c')
  checkWritable(deep, '--out')
  checkWritable(deep, '--out')
  assert.deepEqual(readdirSync(deep), [])
})

test('checkWritable() refuses a folder in a file system that creates none', {
  skip: process.platform === 'linux' ? false : 'there is no /proc',
}, () => {
  assert.throws(
    () => checkWritable('/proc/runs', '--out'),
    /cannot write to \/proc\/runs \(no folder can be created there\)/,
  )
})

test('checkWritable() refuses a folder without write permission', {
  skip: process.getuid?.() === 0 ? 'root may write everywhere' : false,
}, () => {
  const closed = join(folder, 'closed')
  mkdirSync(closed)
  chmodSync(closed, 0o500)
  assert.throws(
    () => checkWritable(join(closed, 'runs'), '--out'),
    (error: unknown) => error instanceof UserError && /\(no permission\); --out/.test(error.message),
  )
})
