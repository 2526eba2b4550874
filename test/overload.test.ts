/** The scoreboard's own parts: the ideal curve, what is kept of an interrupted run, and its options. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { idealShare } from '../bench/overload/ideal.ts'
import type { Cell } from '../bench/overload/measure.ts'
import { Store } from '../bench/overload/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'meltproof-store-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the ideal is the figure of DESIGN.md, all of it at the capacity, and never below nothing', () => {
  // r = 3.8 us and S = 5 ms leave 92 % at 100 times the capacity.
  assert.equal(Math.round(100 * idealShare(100, 3.8, 5000)), 92)
  assert.equal(Math.round(100 * idealShare(10, 12, 5000)), 98)
  assert.equal(idealShare(0.7, 12, 5000), 0.7)
  assert.equal(idealShare(1, 12, 5000), 1)
  assert.equal(idealShare(1000, 12, 5000), 0)
})

test('the store remembers a cell for another run, and only that one', () => {
  const cell = { step: { arm: 'bare', multiple: 0.7, round: 1 } } as unknown as Cell
  new Store(folder).keep('steps-standing', 'bare', 0.7, 1, cell)
  const next = new Store(folder)
  assert.equal(next.has('steps-standing', 'bare', 0.7, 1), true)
  assert.equal(next.has('steps-standing', 'bare', 0.7, 2), false)
  assert.equal(next.has('steps-fresh', 'bare', 0.7, 1), false)
  assert.deepEqual(next.cells('steps-standing'), [cell])
  assert.deepEqual(next.cells('steps-fresh'), [])
  assert.equal(next.capacity('steps-standing'), undefined)
})

for (const [args, message] of [
  [['--workload', 'stepz'], /--workload knows steps, .*; got 'stepz'/],
  [['--loads', '1,x'], /--loads takes numbers above 0; got '1,x'/],
] as const) {
  test(`${args.join(' ')} is refused before anything is measured`, () => {
    const main = join(import.meta.dirname, '../bench/overload/main.ts')
    const { status, stderr } = spawnSync(process.execPath, ['--no-warnings', main, ...args], { encoding: 'utf8' })
    assert.equal(status, 2)
    assert.match(stderr, message)
  })
}
