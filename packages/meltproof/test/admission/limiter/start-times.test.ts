/** Start times in slots agree with a list of all of them, up to the length of a slot. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { StartTimes } from '../../../src/admission/limiter/start-times.ts'

const SLOT_MS = new StartTimes(1).windowMs
const REMEMBERED_MS = 4000

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('start' as const) },
  { weight: 4, arbitrary: fc.record({ ends: fc.nat() }) },
  // Multiples of a quarter of a millisecond, which are exact.
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 800 }).map(quarters => ({ passes: quarters / 4 })) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 200_000 }).map(quarters => ({ passes: quarters / 4 })) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: REMEMBERED_MS }).map(back => ({ back })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5000 }).map(windowMs => ({ windowMs })) },
)

test('property: StartTimes agrees with a list of start times, up to the length of a slot', () => {
  const largest = new StartTimes(1e9).windowMs
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4000 }),
      fc.array(step, { maxLength: 300, size: 'max' }),
      (firstMs, steps) => {
        const starts = new StartTimes(firstMs)
        const inService: number[] = []
        const since = (atMs: number): number => inService.filter(startedAt => startedAt >= atMs).length
        let nowMs = 0
        for (const each of steps) {
          if (each === 'start') {
            starts.add()
            inService.push(nowMs)
          } else if ('ends' in each) {
            if (inService.length === 0) continue
            starts.remove(inService.splice(each.ends % inService.length, 1)[0]!)
          } else if ('passes' in each) {
            nowMs += each.passes
            starts.advance(nowMs)
          } else if ('windowMs' in each) {
            starts.setWindow(each.windowMs)
            assert.ok(starts.windowMs >= Math.min(each.windowMs, largest) && starts.windowMs < each.windowMs + SLOT_MS)
          } else {
            const atMs = nowMs - each.back
            const counted = starts.since(atMs)
            assert.ok(counted <= since(atMs), `${counted} started since ${atMs} at ${nowMs}, not ${since(atMs)}`)
            assert.ok(counted >= since(atMs + SLOT_MS), `${counted} started since ${atMs} at ${nowMs}`)
          }
          const { recent, windowMs } = starts
          assert.ok(recent >= since(nowMs - windowMs), `${recent} of the last ${windowMs} ms at ${nowMs}`)
          assert.ok(recent <= since(nowMs - windowMs - SLOT_MS), `${recent} of the last ${windowMs} ms at ${nowMs}`)
        }
      },
    ),
  )
})

test('removing a start time of long ago does not change the count of newer ones', () => {
  for (let slots = 0; slots < 1000; slots++) {
    const starts = new StartTimes(REMEMBERED_MS)
    starts.add()
    starts.advance(slots * SLOT_MS)
    starts.add()
    starts.remove(0)
    assert.deepEqual([starts.recent, starts.since(slots * SLOT_MS)], [1, 1], `after ${slots} slots`)
  }
})

test('start times are remembered for the requested time', () => {
  const starts = new StartTimes(REMEMBERED_MS)
  assert.ok(starts.windowMs >= REMEMBERED_MS)
  starts.advance(1000)
  starts.add()
  starts.advance(1000 + REMEMBERED_MS)
  assert.equal(starts.recent, 1)
  assert.equal(starts.since(1000 - SLOT_MS), 1)
})
