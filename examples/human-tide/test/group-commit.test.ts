import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { GroupCommit, TooManyWaiting } from '../src/positions/group-commit.ts'

/** A database that answers when told to. */
function slowWriter() {
  const writes: { rows: readonly number[]; done: () => void; fail: (error: Error) => void }[] = []
  const write = (rows: readonly number[]) =>
    new Promise<void>((resolve, reject) => {
      writes.push({ rows, done: resolve, fail: reject })
    })
  return { writes, write }
}

const settledness = (promise: Promise<void>) => {
  const seen = { is: 'pending' }
  promise.then(
    () => (seen.is = 'stored'),
    () => (seen.is = 'refused'),
  )
  return seen
}

test('nobody is told "stored" before the write that holds their rows has ended', async context => {
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
  assert.deepEqual(writes[1]?.rows, [4], 'what came meanwhile is the next write, at once')
  writes[1]?.done()
  await turn()
  assert.equal(later.is, 'stored')
})

test('a write that fails is told to those in it and to nobody else', async context => {
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

test('what waits is bounded', async context => {
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
