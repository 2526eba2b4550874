import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type HeapEntry, TimerHeap } from '../../src/deadline/timer-heap.ts'

const step = fc.oneof(
  // Adds more than it removes. Otherwise the heap would be too small for an entry to sink or rise.
  { weight: 4, arbitrary: fc.record({ add: fc.integer({ min: 0, max: 50 }) }) },
  fc.record({ remove: fc.nat(1000) }),
  fc.constant({ takeFirst: true }),
)

test('property: the heap behaves like a plain list under any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), steps => {
      const heap = new TimerHeap<HeapEntry>()
      let plain: HeapEntry[] = []
      const take = (entry: HeapEntry | undefined): void => {
        if (entry === undefined) return
        heap.remove(entry)
        assert.equal(entry.slot, -1)
        heap.remove(entry)
        plain = plain.filter(other => other !== entry)
      }
      const drain = steps.map(() => ({ takeFirst: true }))
      for (const action of [...steps, ...drain]) {
        if ('add' in action) {
          const entry = { dueMs: action.add, slot: -1 }
          heap.add(entry)
          plain.push(entry)
        } else if ('remove' in action) take(plain[action.remove % Math.max(1, plain.length)])
        else take(heap.first)
        assert.equal(heap.size, plain.length)
        assert.equal(heap.first?.dueMs, plain.length === 0 ? undefined : Math.min(...plain.map(e => e.dueMs)))
      }
    }),
  )
})
