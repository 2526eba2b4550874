/** The heartbeat on a real event loop. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../../src/clock.ts'
import { isBeating, stalledBetween, stallsBetween, watchDelays } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'

/** Resolves just after the next beat. At any other time a busy machine may already be in a stall. */
function nextBeat(): Promise<number> {
  return new Promise(resolve => {
    // The heartbeat does not keep the process alive.
    const alive = setInterval(() => undefined, 1000)
    const unwatch = watchDelays(() => {
      clearInterval(alive)
      unwatch()
      resolve(now())
    })
  })
}

const hold = (): (() => void) => watchDelays(() => undefined)

test('a blocked loop is measured while a hold exists, and the heartbeat ends with the last hold', async t => {
  assert.equal(isBeating(), false)
  const release = hold()
  t.after(release)
  assert.equal(isBeating(), true)
  const fromMs = await nextBeat()
  block(150)
  const blockedUntilMs = now()
  const stillOn = stalledBetween(fromMs, blockedUntilMs)
  assert.ok(stillOn > 130 && stillOn <= blockedUntilMs - fromMs + 1, `told ${stillOn} ms while the stall was still on`)
  await sleep(30)
  const stalled = stalledBetween(fromMs, blockedUntilMs)
  assert.ok(stalled > 130 && stalled <= blockedUntilMs - fromMs + 1, `told ${stalled} ms afterwards`)
  const [stall] = stallsBetween(fromMs, blockedUntilMs)
  assert.ok(stall !== undefined)
  assert.ok(stall.fromMs > fromMs - 12 && stall.toMs >= blockedUntilMs)
  release()
  release()
  while (isBeating()) await sleep(5)
  const other = hold()
  assert.equal(isBeating(), true, 'a second release of one hold must not take another hold away')
  await sleep(30)
  assert.equal(isBeating(), true)
  other()
  while (isBeating()) await sleep(5)
})

test('beats are rare while the loop is idle, frequent after a stall, and each reports its lateness', async t => {
  const beats: { periodMs: number; lateMs: number }[] = []
  const unwatch = watchDelays((periodMs, lateMs) => beats.push({ periodMs, lateMs }))
  t.after(unwatch)
  while (!beats.some(({ periodMs }) => periodMs === 50)) await sleep(20)
  beats.length = 0
  block(150)
  while (beats.length < 2) await sleep(5)
  const [late, next] = beats
  assert.ok(late!.lateMs > 90, `the beat that was due meanwhile came ${late!.lateMs} ms late`)
  assert.equal(next!.periodMs, 10)
  unwatch()
  while (isBeating()) await sleep(5)
  const heard = beats.length
  const release = hold()
  await sleep(60)
  release()
  assert.equal(beats.length, heard)
})

test('many short callbacks before a stall do not hide it', async () => {
  const release = hold()
  let churning = true
  const churn = (): void => {
    if (churning) setImmediate(churn)
  }
  churn()
  await sleep(100)
  const fromMs = now()
  block(150)
  const stalledMs = stalledBetween(fromMs, now())
  churning = false
  release()
  assert.ok(stalledMs > 130, `told ${stalledMs} of 150 ms`)
})
