/**
 * Fair timers on a real event loop, with sockets where they matter. Bounds are wide, because other cores may be busy.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { now } from '../../src/clock.ts'
import { type FairTimer, pendingFairTimers, startFairTimer } from '../../src/deadline/fair-timer.ts'
import { isBeating, stalledBetween } from '../../src/signals/loop-stalls.ts'
import { block } from '../block.ts'
import { kept } from './kept.ts'

interface Expiry {
  readonly waitedMs: number
  readonly ownStallMs: number
}

function expiry(ms: number, options?: { readonly creditCapMs: number }): Promise<Expiry> {
  const { promise, resolve } = Promise.withResolvers<Expiry>()
  const startMs = now()
  const onExpired = (): void => {
    const nowMs = now()
    resolve({ waitedMs: nowMs - startMs, ownStallMs: stalledBetween(startMs, nowMs) })
  }
  startFairTimer(ms, onExpired, options)
  return promise
}

test('a fair timer expires after its time, not before', async () => {
  const startMs = now()
  const verdict = await kept(expiry(50))
  assert.ok(now() - startMs >= 49)
  assert.ok(verdict.waitedMs >= 49 && verdict.waitedMs <= now() - startMs + 1)
})

test('fair timers expire in the order in which they are due', async () => {
  const order: number[] = []
  await kept(Promise.all([90, 30, 60].map(ms => expiry(ms).then(() => order.push(ms)))))
  assert.deepEqual(order, [30, 60, 90])
})

test('a cancelled timer never calls back, even if another timer cancels it at the last moment', async () => {
  const called: string[] = []
  const cleared = startFairTimer(20, () => called.push('cleared'))
  cleared.cancel()
  cleared.cancel()
  // Started first, so it is due first however long the next lines take.
  const killer: FairTimer = startFairTimer(29, () => victim.cancel())
  const victim = startFairTimer(30, () => called.push('victim'))
  startFairTimer(30, () => called.push('survivor')).cancel()
  await kept(sleep(120))
  killer.cancel()
  assert.deepEqual(called, [])
  assert.equal(pendingFairTimers(), 0)
})

test('a stall extends the limit: the timer expires after its limit in unstalled time', async () => {
  const pending = expiry(250)
  await sleep(20)
  block(300)
  const verdict = await kept(pending)
  assert.ok(verdict.ownStallMs > 270, `own stall ${verdict.ownStallMs}`)
  assert.ok(
    verdict.waitedMs - Math.min(verdict.ownStallMs, 250) >= 200,
    `gave up after ${verdict.waitedMs} ms, stalled ${verdict.ownStallMs}`,
  )
})

test('without credit the timer expires within a few turns after the stall', async () => {
  const pending = expiry(300, { creditCapMs: 0 })
  await sleep(20)
  block(400)
  // Counts ticks of a millisecond instead of time, because each takes longer on a busy machine.
  let ticks = 0
  let ticking = setTimeout(function tick() {
    ticks++
    ticking = setTimeout(tick, 1)
  }, 1)
  const verdict = await pending
  clearTimeout(ticking)
  assert.ok(verdict.waitedMs >= 400, `waited ${verdict.waitedMs} ms`)
  assert.ok(ticks <= 10, `${ticks} ticks`)
})

test('an answer in the socket wins over the timer in 30 of 30 runs, even without credit', async () => {
  // The server runs in a thread, so that it answers while this loop is blocked, and counts its answers.
  const written = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
     const answer = s => s.write('x', () => Atomics.add(workerData, 0, 1))
     require('node:net').createServer(s => { s.on('error', () => {}); s.on('data', () => setTimeout(answer, 20, s)) })
       .listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port) })`,
    { eval: true, workerData: written },
  )
  const [port] = (await once(worker, 'message')) as [number]
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  let answered = 0
  for (let i = 0; i < 30; i++) {
    const outcome = Promise.withResolvers<string>()
    socket.once('data', () => outcome.resolve('answer'))
    socket.write('?')
    const timer = startFairTimer(40, () => outcome.resolve('timeout'), { creditCapMs: 0 })
    setImmediate(() => {
      // However busy the machine is, the limit has passed and the answer is in the socket.
      block(60)
      while (Atomics.load(written, 0) <= i);
      block(2)
    })
    if ((await outcome.promise) === 'answer') answered++
    timer.cancel()
  }
  socket.destroy()
  await worker.terminate()
  assert.equal(answered, 30)
})

test('an error thrown by a callback is uncaught, and the other timers still expire', async () => {
  const uncaught = once(process, 'uncaughtException')
  // The runner's listener would report it as a failure of this test.
  const listeners = process.listeners('uncaughtException').slice(0, -1)
  for (const listener of listeners) process.off('uncaughtException', listener)
  try {
    startFairTimer(10, () => {
      throw new Error('from the callback')
    })
    await kept(expiry(10))
    const [error] = (await kept(uncaught)) as [Error]
    assert.equal(error.message, 'from the callback')
  } finally {
    for (const listener of listeners) process.on('uncaughtException', listener)
  }
})

test('0 and negative times expire at once, Infinity and huge ones never', async () => {
  const never = [Number.POSITIVE_INFINITY, 1e15, 2 ** 31].map(ms =>
    startFairTimer(ms, () => assert.fail(`${ms} expired`)),
  )
  await kept(Promise.all([expiry(0), expiry(-5)]))
  await kept(sleep(30))
  for (const timer of never) timer.cancel()
})

test('ten thousand timers share one Node timer, and leave nothing after they are cancelled', async () => {
  const before = process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const timers = Array.from({ length: 10_000 }, (_, i) => startFairTimer(5000 + (i % 7) * 1000, () => {}))
  assert.equal(pendingFairTimers(), 10_000)
  for (const timer of timers) timer.cancel()
  assert.equal(pendingFairTimers(), 0)
  while (isBeating()) await kept(sleep(5))
  assert.ok(process.getActiveResourcesInfo().filter(name => name === 'Timeout').length <= before + 1)
})

test('a pending timer does not keep the process alive', async () => {
  const { execFileSync } = await import('node:child_process')
  const url = new URL('../../src/deadline/fair-timer.ts', import.meta.url)
  const startMs = now()
  execFileSync(process.execPath, [
    '--input-type=module',
    '-e',
    `(await import('${url}')).startFairTimer(60_000, () => {})`,
  ])
  assert.ok(now() - startMs < 30_000)
})
