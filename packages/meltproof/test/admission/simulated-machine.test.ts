/**
 * The simulated machine: slices that other processes take, the warm-up of a process, and when an answer leaves service.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fixedLimit, type Limiter } from '../../src/admission/limiter/limiter.ts'
import { type Core, interrupted, leftBy, stolenSlices } from '../../sim/core.ts'
import { Loop } from '../../sim/loop.ts'
import { Random } from '../../sim/random.ts'
import { simulate } from '../../sim/service.ts'

/** Wall time of `workMs` of work, in steps of a millisecond. */
function wallOf(core: Core, workMs: number): number {
  let nowMs = 0
  for (let i = 0; i < workMs; i++) nowMs += core(nowMs, 1)
  return nowMs
}

describe('the simulated core', () => {
  test('loses what slices of other processes take, single or in a row', () => {
    for (const slices of [
      { everyMs: 100, forMs: 1.1 },
      { everyMs: 76, forMs: 4 },
      { everyMs: 3000, forMs: 4, inARow: 25 },
    ]) {
      const left = 600_000 / wallOf(stolenSlices(new Random(1), slices), 600_000)
      assert.ok(Math.abs(left - leftBy(slices)) < 0.005, `${left} left, not ${leftBy(slices)}`)
    }
  })

  test('is not slowed by a slice that ended while it was idle', () => {
    const core = stolenSlices(new Random(1), { everyMs: 10, forMs: 10 })
    // It idles for a second before each millisecond of work, so rarely more than one slice delays it.
    let wall = 0
    for (let i = 1; i <= 1000; i++) wall += core(i * 1000, 1)
    assert.ok(wall > 3000 && wall < 12_000, `${wall} ms`)
  })

  test('adds a pause at a known time once, to the work then or to the next', () => {
    const core = interrupted([
      [5, 2],
      [6, 1],
      [50, 4],
    ])
    assert.equal(core(0, 5), 5)
    assert.equal(core(5, 1), 4)
    assert.equal(core(100, 1), 5)
    assert.equal(core(105, 1), 1)
  })
})

test('the simulated loop runs what a callback queues for its end before the next callback', () => {
  const loop = new Loop()
  const order: string[] = []
  for (const name of ['one', 'two']) {
    loop.setImmediate(() => {
      loop.nextTick(() => {
        order.push(`${name} ends`)
        loop.nextTick(() => order.push(`${name} ends again`))
      })
      order.push(name)
    })
  }
  loop.run(1)
  assert.deepEqual(order, ['one', 'one ends', 'one ends again', 'two', 'two ends', 'two ends again'])
})

test('synchronous handlers started in one turn are in service together', () => {
  let inService = 0
  let most = 0
  const limiter: Limiter = {
    ...fixedLimit(4),
    admitted: () => {
      inService++
      most = Math.max(most, inService)
    },
    completed: () => {
      inService--
    },
  }
  // Eight arrive during a stall. Then one turn starts four, because it may start handlers for ten milliseconds.
  const arrivals = Array.from({ length: 8 }, (_, i) => ({ atMs: 10 + i, kind: 0 }))
  const workload = { rate: () => 0, arrivals, steps: () => [{ cpu: 2 }] }
  const result = simulate({ ...workload, stalls: [[9, 30]] }, { seconds: 1, limiter: () => limiter })
  assert.equal(result.good, 8)
  assert.ok(most > 1, `${most} at once`)
  assert.equal(inService, 0)
})

test('the first requests of a process cost three times as much, later ones the usual', () => {
  const arrivals = Array.from({ length: 1000 }, (_, i) => ({ atMs: i * 100, kind: 0 }))
  const workload = { rate: () => 0, arrivals, steps: () => [{ cpu: 10 }], warmUp: { times: 3, requests: 50 } }
  const { latencies } = simulate(workload, { seconds: 100, limiter: undefined, parseCostMs: 0 })
  // Sorted, so the quickest are the latest requests.
  assert.ok(Math.abs(latencies[0]! - 10) < 0.01)
  assert.ok(Math.abs(latencies.at(-1)! - 30) < 0.01)
  // Half of the excess is left after 50 ln 2 requests.
  assert.ok(Math.abs(latencies.at(-1 - 35)! - 20) < 0.2)
})
