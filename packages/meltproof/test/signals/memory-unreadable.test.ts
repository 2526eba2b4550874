/** A cgroup whose files can be read, cannot be read, or can no longer be read. The cgroup is a folder of this test. */
import assert from 'node:assert/strict'
import fs, { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { now } from '../../src/clock.ts'
import { Memory } from '../../src/signals/memory.ts'

const MB = 1024 * 1024
const group = mkdtempSync(join(tmpdir(), 'meltproof-group-'))
const PROC: Readonly<Record<string, string>> = {
  '/proc/self/mountinfo': `30 23 0:26 / ${group} rw - cgroup2 cgroup2 rw`,
  '/proc/self/cgroup': '0::/\n',
}
const { readFileSync } = fs
fs.readFileSync = ((path: string, ...rest: []) => PROC[path] ?? readFileSync(path, ...rest)) as typeof readFileSync
syncBuiltinESMExports()
after(() => {
  fs.readFileSync = readFileSync
  syncBuiltinESMExports()
  rmSync(group, { recursive: true })
})

const write = (name: string, text: string): void => writeFileSync(join(group, name), text)

/** The warnings of a process after ten checks for memory. */
async function warningsOf(act: (memory: Memory) => void): Promise<string[]> {
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  const memory = new Memory()
  for (let asked = 0; asked < 10; asked++) {
    assert.equal(memory.refuses(true, now() + asked * 1000), false)
    act(memory)
  }
  await new Promise(setImmediate)
  process.off('warning', onWarning)
  return warnings
}

it('a cgroup that can be read causes no warning', async () => {
  write('memory.max', `${256 * MB}\n`)
  write('memory.current', `${100 * MB}\n`)
  write('memory.stat', '')
  assert.deepEqual(await warningsOf(() => undefined), [])
})

it('a cgroup whose use can no longer be read causes one warning', async () => {
  const warnings = await warningsOf(() => write('memory.current', ''))
  assert.equal(warnings.length, 1, warnings.join('\n'))
  assert.match(
    warnings[0]!,
    /can no longer read the memory use of the container of process \d+ \(.* contains no number\)/,
  )
})

for (const file of ['memory.current', 'memory.max']) {
  it(`a cgroup whose ${file} cannot be read causes one warning`, async () => {
    // Root can read any file, but not a folder as a file.
    rmSync(join(group, file))
    mkdirSync(join(group, file))
    const warnings = await warningsOf(() => undefined)
    const why = `${join(group, file)}: EISDIR`
    assert.deepEqual(warnings, [
      `meltproof cannot read the memory limit of the container of process ${process.pid} (${why}); it watches only the heap.`,
    ])
  })
}
