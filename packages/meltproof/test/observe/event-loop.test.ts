/** The event loop's figures after stalls: first on a fake loop, then on the real one. */
import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { mock, test, type TestContext } from 'node:test'
import { now } from '../../src/clock.ts'
import { EventLoop } from '../../src/observe/event-loop.ts'
import { isBeating } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'
import { fakeTimers } from '../fake-timers.ts'
import { eventually } from '../server/harness.ts'

/** A loop whose time the test moves, either idle or stalled. */
function fakeLoop(t: TestContext) {
  let nowMs = 1_000_000
  let idleMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.getter(performance.nodeTiming, 'idleTime', () => idleMs)
  t.mock.method(performance, 'eventLoopUtilization', (one?: Utilization, other?: Utilization) => {
    if (one === undefined) return { idle: idleMs, active: nowMs - idleMs, utilization: 0 }
    const [idle, active] = [one.idle - other!.idle, one.active - other!.active]
    return { idle, active, utilization: active / (active + idle) }
  })
  t.after(fakeTimers('setTimeout'))
  return {
    rest(ms: number): void {
      for (let i = 0; i < ms; i++) {
        nowMs++
        idleMs++
        mock.timers.tick(1)
      }
    },
    stall(ms: number): void {
      nowMs += ms
      mock.timers.tick(ms)
    },
  }
}

type Utilization = ReturnType<typeof performance.eventLoopUtilization>

test('a single long stall shows in the maximum and not in the median, and reading changes nothing', t => {
  const { rest, stall } = fakeLoop(t)
  const loop = new EventLoop()
  assert.equal(loop.delays.read(now()), undefined)
  rest(300)
  stall(300)
  rest(300)
  const { max, p50, mean } = loop.delays.read(now())!
  // The late beat was due within 50 ms, the interval on an idle loop.
  assert.ok(max >= 0.25 && max <= 0.3, `max ${max} s`)
  assert.ok(p50 < 0.001, `p50 ${p50} s`)
  // A third of the time, due work waits 150 ms on average.
  assert.ok(mean > 0.04 && mean < 0.06, `mean ${mean} s`)
  assert.equal(loop.utilization(), 300 / 900)
  rest(50)
  assert.equal(loop.delays.read(now())!.max, max)
  assert.equal(loop.utilization(), 300 / 950)
  rest(120_000)
  assert.equal(loop.delays.read(now())!.max, 0, 'the last minute alone counts')
  assert.equal(loop.utilization(), 0)
  loop.close()
  rest(50)
  assert.equal(isBeating(), false)
})

test('a real stall of the event loop is measured', async () => {
  const loop = new EventLoop()
  const most = (): number => loop.delays.read(now())?.max ?? 0
  await eventually('the first beat', () => loop.delays.read(now()) !== undefined)
  block(300)
  await eventually('the beat after the stall', () => most() > 0.2)
  assert.ok(loop.utilization() > 0)
  loop.close()
  await eventually('the beats end', () => !isBeating())
})
