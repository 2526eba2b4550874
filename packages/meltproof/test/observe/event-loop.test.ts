import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../../src/clock.ts'
import { EventLoop } from '../../src/observe/event-loop.ts'
import { isBeating } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'

test('one long stall is the most and not the median, for whoever looks', async () => {
  const loop = new EventLoop()
  assert.equal(loop.delays.read(now()), undefined)
  await sleep(300)
  block(300)
  await sleep(300)
  const { max, p50, mean } = loop.delays.read(now())!
  assert.ok(max > 0.2 && max < 1, `max ${max} s`)
  assert.ok(p50 < 0.05, `p50 ${p50} s`)
  // A third of what falls due waits for 150 ms on average.
  assert.ok(mean > 0.02 && mean < 0.2, `mean ${mean} s`)
  await sleep(50)
  assert.equal(loop.delays.read(now())!.max, max)
  const busy = loop.utilization()
  assert.ok(busy > 0.15, `busy for ${busy} of the time`)
  await sleep(50)
  assert.ok(Math.abs(loop.utilization() - busy) < 0.15, 'looking does not begin anew')
  loop.close()
  while (isBeating()) await sleep(5)
})
