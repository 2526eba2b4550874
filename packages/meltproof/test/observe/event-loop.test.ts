import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventLoop } from '../../src/observe/event-loop.ts'
import { isBeating } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'

test('one long stall is the most and not the median, and the next look begins anew', async () => {
  const loop = new EventLoop()
  assert.equal(loop.delay(), undefined)
  await sleep(300)
  block(300)
  await sleep(300)
  const { max, p50, mean } = loop.delay()!
  assert.ok(max > 0.2 && max < 1, `max ${max} s`)
  assert.ok(p50 < 0.05, `p50 ${p50} s`)
  // 300 ms in ten-millisecond waits of 900 ms.
  assert.ok(mean < 0.05, `mean ${mean} s`)
  await sleep(200)
  assert.ok(loop.delay()!.max < max)
  loop.close()
  while (isBeating()) await sleep(5)
})
