/** A handler that throws has the same effect on the process as without meltproof. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const FIXTURE = fileURLToPath(new URL('throwing.fixture.ts', import.meta.url))

function run(...args: string[]): { code: number | null; said: unknown[]; complaint: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [FIXTURE, ...args], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  const said = stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as unknown)
  return { code: status, said, complaint: /^Error: .*/m.exec(stderr)?.[0] ?? '' }
}

for (const kind of ['sync', 'async']) {
  for (const arm of ['at-once', 'queued']) {
    describe(`a handler that throws, ${kind}, started ${arm}`, () => {
      it('ends the process as it does without meltproof', () => {
        const bare = run('bare', kind)
        assert.deepEqual(bare, { code: 1, said: [], complaint: 'Error: the app’s own' })
        assert.deepEqual(run(arm, kind), bare)
      })

      it('reaches an uncaughtException listener as without meltproof, and the server keeps serving', () => {
        const bare = run('bare', kind, 'caught')
        assert.equal(bare.said.length, 2)
        assert.deepEqual(bare.said[1], { status: 200 })
        assert.deepEqual(run(arm, kind, 'caught'), bare)
      })
    })
  }
}
