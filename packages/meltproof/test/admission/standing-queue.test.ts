/** When a queue is a burst, and when it is overload. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fixedLimit, type Limiter } from '../../src/admission/limiter/limiter.ts'
import { STANDING_TUNING, StandingQueue } from '../../src/admission/queue/standing-queue.ts'
import type { Waiting } from '../../src/admission/queue/wait-queue.ts'

const { drains, drainsAgain, few, intervalMs, intervalsToStand, maxWaitMs, promiseMs, rememberMs } = STANDING_TUNING

interface Entry extends Waiting {
  readonly id: number
}

/** A queue in front of a service from which one request leaves every `gapMs`. */
function queueOf(gapAtFirstMs: number, limiter: Partial<Limiter> = {}) {
  let gapMs = gapAtFirstMs
  const shed: string[] = []
  const queue = new StandingQueue<Entry>({ ...fixedLimit(1), ...limiter }, { shed: (_, reason) => shed.push(reason) })
  let nowMs = 0
  let id = 0
  const push = (count = 1): void => {
    for (let i = 0; i < count; i++) queue.push({ id: id++, arrivedAt: nowMs, dequeued: false }, nowMs)
  }
  return {
    queue,
    shed,
    push,
    slower(): void {
      gapMs *= 4
    },
    /** Requests leave one after the other, and new ones keep `length` of them waiting. */
    run(ms: number, length: number): void {
      for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
        nowMs += gapMs
        if (queue.waiting.size > 0) {
          queue.next(nowMs)
          queue.departed(nowMs)
          queue.expire(nowMs)
        }
        if (!queue.standing) push(length - queue.waiting.size)
      }
    },
    /** Gives the queue a departure pace, and drains it. */
    warmUp(): void {
      push(40)
      while (queue.waiting.size > 0) {
        nowMs += gapMs
        queue.next(nowMs)
        queue.departed(nowMs)
      }
      assert.equal(queue.standing, false)
    },
  }
}

const gapMs = 10
const tolerated = (drains * promiseMs) / gapMs

function standsInSlightOverload({ queue, run, warmUp }: ReturnType<typeof queueOf>): void {
  warmUp()
  for (let ms = 0; ms < 2000 && !queue.standing; ms += gapMs) run(gapMs, 1.2 * tolerated)
  assert.equal(queue.standing, true)
}

describe('a queue', () => {
  const hopeless = maxWaitMs / gapMs

  it('never stands if it drains within 600 ms', () => {
    assert.equal(drains * promiseMs, 600)
    const { queue, run, shed } = queueOf(gapMs)
    run(60_000, tolerated - 1)
    assert.deepEqual([queue.standing, shed], [false, []])
  })

  it('stands after some intervals if it takes longer to drain and does not shrink', () => {
    const { queue, run, warmUp } = queueOf(gapMs)
    warmUp()
    run(intervalsToStand * intervalMs - 2 * gapMs, 1.2 * tolerated)
    assert.equal(queue.standing, false)
    run(5 * intervalMs, 1.2 * tolerated)
    assert.equal(queue.standing, true)
  })

  it('stands earlier if its expected wait exceeds the maximum, and does not shrink', () => {
    assert.equal(maxWaitMs, 2000)
    for (const [length, stands] of [
      [hopeless, false],
      [hopeless + 2, true],
    ] as const) {
      const { queue, run, warmUp } = queueOf(gapMs)
      warmUp()
      run(3 * intervalMs, length)
      assert.equal(queue.standing, stands, `${length} wait`)
    }
  })

  it('that is new stands after its first departures only if its expected wait exceeds six seconds', () => {
    for (const [length, stands] of [
      [3 * hopeless - 10, false],
      [3 * hopeless + 10, true],
    ] as const) {
      const { queue, push, run } = queueOf(gapMs)
      push(length)
      run(3 * intervalMs, length)
      assert.equal(queue.standing, stands, `${length} wait`)
    }
  })

  it('does not stand while it shrinks, however long its expected wait is', () => {
    const { queue, push, run, shed, warmUp } = queueOf(gapMs)
    warmUp()
    push(1.2 * hopeless)
    run(maxWaitMs - 2 * gapMs, 0)
    assert.deepEqual([queue.standing, shed], [false, []])
    run(5 * gapMs, 0)
    assert.deepEqual(new Set(shed), new Set(['late']))
    assert.equal(queue.waiting.size, 0)
  })

  it('stands only beyond 1.5 times the maximum wait while departures speed up', () => {
    const queue = new StandingQueue<Entry>(fixedLimit(1), { shed: () => undefined })
    let nowMs = 0
    const push = (count: number): void => {
      for (let id = 0; id < count; id++) queue.push({ id, arrivedAt: nowMs, dequeued: false }, nowMs)
    }
    push(100)
    for (const each of [20, 20, 10, 5]) {
      for (let i = 0; i < 100 / each; i++) {
        nowMs += each
        queue.next(nowMs)
        queue.departed(nowMs)
      }
    }
    const waitsMs = queue.expectedWaitMs / queue.waiting.size
    push(Math.ceil(maxWaitMs / waitsMs) - queue.waiting.size + 5)
    assert.ok(queue.expectedWaitMs > maxWaitMs)
    const intervals = (count: number): void => {
      for (let i = 0; i < count; i++) {
        nowMs += intervalMs
        queue.expire(nowMs)
      }
    }
    intervals(2)
    assert.equal(queue.standing, false)
    push(Math.ceil((1.5 * maxWaitMs) / waitsMs) - queue.waiting.size + 1)
    intervals(2)
    assert.equal(queue.standing, true)
  })

  it('does not stand because the first requests of a burst leave slowly', () => {
    const queue = new StandingQueue<Entry>(fixedLimit(1), { shed: () => undefined })
    let nowMs = 0
    // The loop accepts the 200 connections of the burst among the first 16 departures.
    for (let left = 0; left < 190; left++) {
      const isArriving = left < 16
      for (let id = 0; isArriving && id < 13; id++) queue.push({ id, arrivedAt: nowMs, dequeued: false }, nowMs)
      nowMs += isArriving ? 20 : 5
      queue.next(nowMs)
      queue.departed(nowMs)
      queue.expire(nowMs)
      assert.equal(queue.standing, false, `${left} left`)
    }
    assert.ok(nowMs < maxWaitMs)
  })

  it('counts requests in service above the limit, because they leave first', () => {
    for (const [length, stands] of [
      [few, false],
      [few + 2, true],
    ] as const) {
      const { queue, run, warmUp } = queueOf(gapMs, { excess: hopeless - few })
      warmUp()
      run(3 * intervalMs, length)
      assert.equal(queue.standing, stands, `${length} wait`)
    }
  })

  it('does not stand while the limit is only suspected', () => {
    const { queue, push, run, warmUp } = queueOf(gapMs, { searching: true })
    warmUp()
    push(hopeless + 100)
    run(intervalsToStand * intervalMs + 500, hopeless + 100)
    assert.equal(queue.standing, false)
  })

  it('in a slight overload serves those that wait in order, and sheds arrivals above a backlog that falls', () => {
    const service = queueOf(gapMs)
    const { queue, push, run, shed } = service
    standsInSlightOverload(service)
    const waiting = queue.waiting.size
    const oldest = queue.waiting.oldest()!.id
    push(10)
    assert.ok(queue.waiting.size <= waiting + 1)
    run(20 * gapMs, 0)
    assert.deepEqual([queue.waiting.oldest()!.id, shed], [oldest + 20, []])
    push(waiting)
    // 0.06 ms per ms.
    assert.ok(queue.waiting.size >= waiting - 2, `${queue.waiting.size} of ${waiting} wait`)
    for (let i = 0; i < 500; i++) {
      run(gapMs, 0)
      push(5)
    }
    const isReduced = waiting - (0.06 * 520 * gapMs) / gapMs
    assert.ok(Math.abs(queue.waiting.size - isReduced) < 5, `${queue.waiting.size} wait, not ${isReduced}`)
    assert.ok(queue.expectedWaitMs > 100, 'deadlines are compared with the wait of the last in order')
  })

  it('in a slight overload serves in the order of arrival, whatever the shares of kinds', () => {
    const kinds = new Map<number, number>()
    const queue = new StandingQueue<Entry>(fixedLimit(1), { shed: () => undefined, kind: ({ id }) => kinds.get(id)! })
    let [nowMs, id] = [0, 0]
    const push = (kind: number): void => {
      kinds.set(++id, kind)
      queue.push({ id, arrivedAt: nowMs, dequeued: false }, nowMs)
    }
    const served: number[] = []
    for (let i = 0; i < 400; i++) {
      nowMs += gapMs
      // Kind 1 asks for far more than its share, kind 2 for little.
      while (queue.waiting.size < 1.2 * tolerated && !queue.standing) push(1)
      if (queue.standing) push(i % 10 === 0 ? 2 : 1)
      served.push(queue.next(nowMs)!.id)
      queue.departed(nowMs)
      queue.expire(nowMs)
    }
    assert.equal(queue.standing, true)
    assert.deepEqual(
      served,
      served.toSorted((one, other) => one - other),
    )
  })

  it('sheds those that waited long at once where service takes longer than a tenth of the promise', () => {
    const service = queueOf(gapMs, fixedLimit(promiseMs / 10 / gapMs + 5))
    service.queue.isBound = true
    standsInSlightOverload(service)
    assert.ok(service.shed.filter(reason => reason === 'stale').length > tolerated / 2)
  })

  it('tolerates less backlog where service takes longer, as far as that is known', () => {
    const service = { limit: 300 / gapMs }
    for (const [backlogMs, limiter, stands] of [
      [350, service, false],
      [450, service, true],
      [450, { ...service, known: false }, false],
    ] as const) {
      const { queue, run, warmUp } = queueOf(gapMs, limiter)
      queue.isBound = true
      warmUp()
      run(1000, backlogMs / gapMs)
      assert.equal(queue.standing, stands, `${backlogMs} ms`)
    }
  })

  it('is not in order any more once the service has become slower', () => {
    const service = queueOf(gapMs)
    standsInSlightOverload(service)
    service.slower()
    service.run(2000, 0)
    assert.ok(service.shed.includes('stale'))
  })

  it('stands again at a much smaller backlog soon after it stood, but not later', () => {
    for (const [pauseMs, stands] of [
      [2 * intervalMs, true],
      [rememberMs + intervalMs, false],
    ] as const) {
      const { queue, push, run, warmUp } = queueOf(gapMs)
      warmUp()
      run(3 * intervalMs, hopeless + 2)
      for (let ms = 0; ms < 5 * intervalMs; ms += gapMs) {
        push(2)
        run(gapMs, 0)
      }
      run(10 * intervalMs, 0)
      assert.equal(queue.waiting.size, 0, 'what it could not serve was shed')
      run(pauseMs, 0)
      run(10 * intervalMs, (((drains + drainsAgain) / 2) * promiseMs) / gapMs)
      assert.equal(queue.standing, stands, `after ${pauseMs} ms`)
    }
  })
})
