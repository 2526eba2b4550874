import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { GroupCommit, TooManyWaiting } from '../src/positions/group-commit.ts'

/** A database that answers when the test calls done() or fail(). */
function slowWriter() {
  const writes: { rows: readonly number[]; done: () => void; fail: (error: Error) => void }[] = []
  const write = (rows: readonly number[]) =>
    new Promise<readonly string[]>((resolve, reject) => {
      writes.push({ rows, done: () => resolve(rows.map(row => `row ${row}`)), fail: reject })
    })
  return { writes, write }
}

const settledness = (promise: Promise<unknown>) => {
  const seen = { is: 'pending' }
  promise.then(
    () => (seen.is = 'stored'),
    () => (seen.is = 'refused'),
  )
  return seen
}

test('no report is acknowledged before the write with its rows has ended', async context => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { writes, write } = slowWriter()
  const group = new GroupCommit(write)
  const first = settledness(group.add([1]))
  const second = settledness(group.add([2, 3]))
  context.mock.timers.tick(20)
  assert.deepEqual(writes[0]?.rows, [1, 2, 3])
  const later = settledness(group.add([4]))
  context.mock.timers.tick(1000)
  await turn()
  assert.deepEqual([first.is, second.is, later.is, writes.length], ['pending', 'pending', 'pending', 1])
  writes[0]?.done()
  await turn()
  assert.deepEqual([first.is, second.is, later.is], ['stored', 'stored', 'pending'])
  assert.deepEqual(writes[1]?.rows, [4], 'the rows that arrived meanwhile are the next write, at once')
  writes[1]?.done()
  await turn()
  assert.equal(later.is, 'stored')
})

test('a write that fails rejects the reports in it, and no others', async context => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { writes, write } = slowWriter()
  const group = new GroupCommit(write, { mostRows: 2 })
  const states = [[1], [2], [3]].map(rows => settledness(group.add(rows)))
  context.mock.timers.tick(20)
  writes[0]?.fail(new Error('the database is gone'))
  await turn()
  writes[1]?.done()
  await turn()
  assert.deepEqual(
    states.map(state => state.is),
    ['refused', 'refused', 'stored'],
  )
  const after = settledness(group.add([4]))
  context.mock.timers.tick(20)
  writes[2]?.done()
  await turn()
  assert.equal(after.is, 'stored')
})

test('rows that the database refuses reject their own report, and all others are written in order', async () => {
  const BAD = -1
  const row = fc.oneof({ weight: 9, arbitrary: fc.nat() }, { weight: 1, arbitrary: fc.constant(BAD) })
  const calls = fc.array(fc.array(row, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(calls, async given => {
      const written: number[] = []
      const write = async (rows: readonly number[]) => {
        if (rows.includes(BAD)) throw new RangeError('a bad row')
        written.push(...rows)
        return rows.map(row => `row ${row}`)
      }
      const group = new GroupCommit(write, { gatherMs: 0, isAboutRows: error => error instanceof RangeError })
      const ends = await Promise.allSettled(given.map(rows => group.add(rows)))
      const isGood = (rows: readonly number[]) => !rows.includes(BAD)
      assert.deepEqual(
        ends.map(end => (end.status === 'fulfilled' ? end.value : 'refused')),
        given.map(rows => (isGood(rows) ? rows.map(row => `row ${row}`) : 'refused')),
      )
      assert.deepEqual(written, given.filter(isGood).flat())
    }),
    { numRuns: 100 },
  )
})

test('if the database goes down during the search for a bad row, the remaining reports are rejected', async () => {
  let writes = 0
  const write = async (rows: readonly number[]) => {
    if (++writes > 4) throw new Error('the database is gone')
    if (rows.includes(1)) throw new RangeError('a bad row')
    return rows
  }
  const group = new GroupCommit(write, { isAboutRows: error => error instanceof RangeError })
  const ends = await Promise.allSettled([[0], [1], [2], [3]].map(rows => group.add(rows)))
  assert.deepEqual(
    ends.map(end => (end.status === 'rejected' ? end.reason.message : 'written')),
    ['written', 'a bad row', 'the database is gone', 'the database is gone'],
  )
})

test('the number of waiting rows is bounded', async context => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { writes, write } = slowWriter()
  const group = new GroupCommit(write, { mostWaiting: 3 })
  const taken = settledness(group.add([1, 2, 3]))
  await assert.rejects(group.add([4]), TooManyWaiting)
  context.mock.timers.tick(20)
  writes[0]?.done()
  await turn()
  assert.equal(taken.is, 'stored')
  const again = settledness(group.add([4]))
  context.mock.timers.tick(20)
  writes[1]?.done()
  await turn()
  assert.equal(again.is, 'stored', 'there is room again')
})
