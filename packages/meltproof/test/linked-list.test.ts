/** LinkedList keeps the order, removes an item anywhere, and clears the links of a removed item. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import { Exchange } from '../src/server/request/exchange.ts'
import { LinkedList } from '../src/linked-list.ts'

const exchange = (): Exchange => new Exchange({ url: '/' } as IncomingMessage, undefined, true, 0)

test('LinkedList keeps the order of insertion like a Set, whatever is removed', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(), { nil: undefined })), steps => {
      const list = new LinkedList<Exchange>()
      const model = new Set<Exchange>()
      for (const step of steps) {
        const leaves = step === undefined ? undefined : [...model][step % (model.size || 1)]
        if (leaves === undefined) {
          const comes = exchange()
          list.add(comes)
          model.add(comes)
        } else {
          list.delete(leaves)
          model.delete(leaves)
          assert.equal(leaves.before, undefined)
          assert.equal(leaves.after, undefined)
        }
        assert.deepEqual(
          list.find(() => true),
          [...model],
        )
      }
    }),
  )
})

test('find() returns matching items from the oldest up to the end condition', () => {
  const list = new LinkedList<Exchange>()
  const all = [1, 2, 3, 4].map(at => {
    const comes = exchange()
    comes.startedAt = at
    list.add(comes)
    return comes
  })
  const found = list.find(
    ({ startedAt }) => startedAt !== 2,
    ({ startedAt }) => startedAt === 4,
  )
  assert.deepEqual(found, [all[0], all[2]])
})
