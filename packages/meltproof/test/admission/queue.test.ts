import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Waiting, WaitQueue } from '../../src/admission/queue/wait-queue.ts'

interface Entry extends Waiting {
  readonly id: number
}

const entry = (id: number): Entry => ({ id, arrivedAt: id, dequeued: false })

test('WaitQueue behaves like an array under any sequence of operations', () => {
  const operation = fc.oneof(
    { weight: 5, arbitrary: fc.constant('push' as const) },
    { weight: 2, arbitrary: fc.constant('oldest' as const) },
    { weight: 2, arbitrary: fc.constant('newest' as const) },
    { weight: 2, arbitrary: fc.nat().map(which => ({ which })) },
  )
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 600 }), operations => {
      const queue = new WaitQueue<Entry>()
      const model: Entry[] = []
      let id = 0
      for (const operation of operations) {
        if (operation === 'push') {
          const pushed = entry(id++)
          queue.push(pushed)
          model.push(pushed)
        } else if (operation === 'oldest') {
          assert.equal(queue.oldest()?.id, model[0]?.id)
          assert.equal(queue.takeOldest()?.id, model.shift()?.id)
        } else if (operation === 'newest') assert.equal(queue.takeNewest()?.id, model.pop()?.id)
        else if (model.length > 0) {
          const [removed] = model.splice(operation.which % model.length, 1)
          assert.equal(queue.remove(removed!), true)
          assert.equal(queue.remove(removed!), false, 'an entry leaves once')
        }
        assert.equal(queue.size, model.length)
      }
      while (model.length > 0) assert.equal(queue.takeOldest()?.id, model.shift()?.id)
      assert.equal(queue.takeOldest(), undefined)
    }),
  )
})

test('WaitQueue does not grow without bound from entries that left', () => {
  const queue = new WaitQueue<Entry>()
  const stays = entry(-1)
  queue.push(stays)
  // To make room, the queue reads `dequeued` of every entry that it keeps.
  let looks = 0
  let mostKept = 0
  for (let id = 0; id < 100_000; id++) {
    let dequeued = false
    const passing = {
      ...{ id, arrivedAt: id },
      get dequeued() {
        looks++
        return dequeued
      },
      set dequeued(value) {
        dequeued = value
      },
    }
    looks = 0
    queue.push(passing)
    mostKept = Math.max(mostKept, looks)
    queue.remove(passing)
  }
  assert.equal(queue.size, 1)
  assert.ok(mostKept > 0 && mostKept <= 128, `one entry waits, ${mostKept} are kept`)
  assert.equal(queue.takeOldest(), stays)
})
