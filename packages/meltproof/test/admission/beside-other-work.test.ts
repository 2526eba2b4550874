/**
 * Other work of the process keeps the loop busy while requests merely wait: nobody is held where the loop was seen at rest
 * before. Where it was busy from the first request on, the limit falls to one, so each is a `todo`.
 * `node bench/evidence.ts --only other-work,other-work-uneven,other-work-later` shows it on a real server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'

interface Ran {
  readonly answered: number
  /** The longest wait for a permit, ms: of those that came in the first eight seconds, and later. */
  readonly firstMs: number
  readonly laterMs: number
  readonly lowest: number
}

/** Requests come every `everyMs` and wait; a turn of the loop takes `turnMs`, from `fromMs` on for other work. */
function besideOtherWork(everyMs: number, waitMs: (i: number) => number, turnMs: number, fromMs: number): Ran {
  let now = 0
  const limiter = new ConcurrencyLimiter(() => Math.max(0, now - fromMs))
  const inService: { readonly startedAt: number; readonly dueAt: number; readonly ticket: number }[] = []
  const queue: number[] = []
  let [arrived, answered, firstMs, laterMs, lowest] = [0, 0, 0, 0, Number.POSITIVE_INFINITY]
  let waits = false
  for (; now < 60_000; now += turnMs) {
    for (const each of inService.filter(({ dueAt }) => dueAt <= now)) {
      inService.splice(inService.indexOf(each), 1)
      limiter.completed(now, now - each.startedAt, each.ticket)
      answered++
    }
    for (; arrived * everyMs <= now; arrived++) queue.push(arrived)
    limiter.tick(now)
    while (queue.length > 0 && inService.length < limiter.limit) {
      limiter.admitted(now)
      const i = queue.shift()!
      const waitedMs = now - turnMs - i * everyMs
      if (i * everyMs < 8000) firstMs = Math.max(firstMs, waitedMs)
      else laterMs = Math.max(laterMs, waitedMs)
      inService.push({ startedAt: now, dueAt: now + waitMs(i), ticket: limiter.ticket })
    }
    if (queue.length > 0 !== waits) {
      waits = !waits
      if (waits) limiter.limitReached(now)
      else limiter.limitCleared(now)
    }
    lowest = Math.min(lowest, limiter.limit)
  }
  return { answered, firstMs, laterMs, lowest }
}

const WORK = [
  ['100/s that wait 100 ms', 10, () => 100, 5],
  ['400/s that wait 20 ms', 2.5, () => 20, 15],
  ['80/s of which half wait 20 ms and half 400 ms', 12.5, (i: number) => (i % 2 === 0 ? 20 : 400), 20],
  ['50/s that wait 400 ms', 20, () => 400, 15],
  ['200/s that wait 400 ms', 5, () => 400, 15],
  ['10/s that wait 150 ms', 100, () => 150, 15],
  ['40/s that wait 900 ms', 25, () => 900, 15],
] as const
for (const [name, everyMs, waitMs, turnMs] of WORK) {
  // Fewer than four of these are answered in 100 ms, which shows nothing.
  const isSeldom = name.startsWith('10/s') || name.startsWith('40/s')
  const todo = isSeldom && 'fewer than four answers in 100 ms are taken for none'
  test(`beside other work that begins after ten seconds, nobody of ${name} is held`, { todo }, () => {
    const { answered, firstMs, laterMs, lowest } = besideOtherWork(everyMs, waitMs, turnMs, 10_000)
    assert.deepEqual([firstMs, laterMs], [0, 0], `the limit fell to ${lowest}; ${answered} answers`)
  })
}
test('nobody is held beside other work that was there before the first request', {
  todo: 'the loop limit takes a busy loop alone for evidence where it was never seen at rest',
}, () => {
  const { answered, firstMs, laterMs, lowest } = besideOtherWork(10, () => 100, 5, 0)
  assert.deepEqual([firstMs, laterMs], [0, 0], `the limit fell to ${lowest}; ${answered} answers`)
})
