/** The limit of an event loop that is always busy. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Answered } from '../../../src/admission/limiter/answers.ts'
import { LoopLimit } from '../../../src/admission/limiter/loop-limit.ts'
import { LIMITER_TUNING } from '../../../src/admission/limiter/tuning.ts'

const { busyForMs, busyWindowMs, fewest, grows, lookMs, loopBusy, loopWorkMs, max, promiseMs } = LIMITER_TUNING

interface Load {
  /** Busy share of the loop. @default 1 */
  readonly busy?: number
  /** Share of the time in which the loop has the core. @default as its busy share */
  readonly cpu?: number
  /** Requests in service. @default the limit */
  readonly counted?: number
  /** Whether requests wait for a permit. @default true */
  readonly waits?: boolean
  /** Share of the time in which nothing is in service. @default 0 */
  readonly emptyShare?: number
  /** Time between two answers, ms. @default never */
  readonly answerEveryMs?: number
}

function loop(tuning = LIMITER_TUNING) {
  let [nowMs, busyMs, cpuMs, emptyMs] = [0, 0, 0, 0]
  const answered = new Answered()
  const limit = new LoopLimit(
    () => busyMs,
    () => cpuMs,
    tuning,
    answered,
  )
  const judge = ({ counted = Math.min(limit.limit, max), waits = true }: Load): void => {
    if (nowMs >= limit.dueAt) limit.judge(nowMs, counted, waits, emptyMs)
  }
  const run = (ms: number, load: Load): void => {
    const { busy = 1, cpu = busy, emptyShare = 0, answerEveryMs = Number.POSITIVE_INFINITY } = load
    for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
      nowMs++
      busyMs += busy
      cpuMs += cpu
      emptyMs += emptyShare
      if (nowMs % answerEveryMs === 0) answered.add(answerEveryMs)
      judge(load)
    }
  }
  const stall = (ms: number): void => {
    nowMs += ms
    busyMs += ms
    cpuMs += ms
  }
  return { limit, run, stall, answered }
}

/** Keeps the loop busy until `counted` requests become its limit (at least `fewest`). None of them is answered. */
function limitedTo(counted: number) {
  const service = loop()
  service.run(busyForMs, { counted })
  assert.equal(service.limit.limit, Math.max(fewest, counted))
  return service
}

describe('before a busy loop is judged', () => {
  it('further requests are held back after two windows, and are not once it rests', () => {
    for (const [counted, most] of [
      [70, 70],
      [5, fewest],
    ] as const) {
      const { limit, run } = loop()
      run(2 * busyWindowMs - 1, { counted })
      assert.equal(limit.hold, Number.POSITIVE_INFINITY)
      run(1, { counted })
      assert.equal(limit.hold, most)
      assert.equal(limit.isSet, false)
      run(busyWindowMs, { busy: loopBusy - 0.1, counted })
      assert.equal(limit.hold, Number.POSITIVE_INFINITY)
    }
  })

  it('the number that is held stays, and becomes the first limit', () => {
    const { limit, run } = loop()
    run(2 * busyWindowMs, { counted: 40 })
    for (const counted of [60, 30]) {
      run(busyWindowMs, { counted })
      assert.equal(limit.hold, 40)
    }
    run(busyForMs, { counted: 30 })
    assert.deepEqual([limit.limit, limit.hold], [40, Number.POSITIVE_INFINITY])
  })

  it('nothing is held back if 16 requests were in service while it last rested, or if others have the core', () => {
    for (const [atRest, cpu, most] of [
      [fewest, 1, Number.POSITIVE_INFINITY],
      [fewest - 1, 1, 30],
      [0, 0.2, Number.POSITIVE_INFINITY],
      [0, 0.3, 30],
    ] as const) {
      const { limit, run } = loop()
      run(3 * busyWindowMs, { busy: 0.5, counted: atRest })
      run(2 * busyWindowMs, { cpu, counted: 30 })
      assert.equal(limit.hold, most, `${atRest} in service at rest, ${cpu} of the time on the core`)
    }
  })

  it('it delays requests from the first busy window on, until it rests, but not during a stall below 200 ms', () => {
    const none = Number.POSITIVE_INFINITY
    for (const busyMs of [2 * busyWindowMs, 150, 500]) {
      const { limit, run } = loop()
      run(busyWindowMs, { busy: 0.5 })
      run(busyMs, { counted: 30 })
      assert.deepEqual([limit.delaysSince, limit.mayBeScarce], [busyWindowMs, true], `busy for ${busyMs} ms`)
      run(busyWindowMs, { busy: 0.5, counted: 30 })
      assert.deepEqual([limit.delaysSince, limit.mayBeScarce], [none, false])
    }
    for (const [stallMs, delays] of [
      [150, false],
      [210, true],
    ] as const) {
      const { limit, run, stall } = loop()
      // With 16 in service at rest, nothing is held back.
      run(3 * busyWindowMs, { busy: 0.5, counted: fewest })
      stall(stallMs)
      run(1, { counted: fewest })
      assert.equal(limit.mayBeScarce, true)
      assert.equal(limit.delaysSince < none, delays, `a stall of ${stallMs} ms`)
    }
  })

  it('it is not scarce while requests take no longer than usual, with limitsByLoop: false too', () => {
    for (const limitsByLoop of [true, false]) {
      const { limit, run } = loop({ ...LIMITER_TUNING, limitsByLoop })
      run(3000, { busy: 0.5, counted: 30, answerEveryMs: 20 })
      run(300, { counted: 30, answerEveryMs: 20 })
      assert.deepEqual([limit.mayBeScarce, limit.isSet], [false, false], `limitsByLoop: ${limitsByLoop}`)
    }
  })

  it('nothing is held back with limitsByLoop: false', () => {
    const { limit, run } = loop({ ...LIMITER_TUNING, limitsByLoop: false })
    run(busyForMs, { counted: 30 })
    assert.equal(limit.hold, Number.POSITIVE_INFINITY)
  })
})

describe('a loop that is busy', () => {
  it('for 100 ms gets the number of requests in service as its limit', () => {
    assert.equal(busyForMs, 100)
    const { limit, run } = loop()
    run(busyForMs - 1, { counted: 70 })
    assert.equal(limit.isSet, false)
    assert.equal(limit.limit, Number.POSITIVE_INFINITY)
    run(1, { counted: 70 })
    assert.equal(limit.limit, 70)
    assert.equal(limit.isSet, true)
  })

  it('gets a limit of at least 16, whether requests wait or not', () => {
    assert.equal(fewest, 16)
    for (const waits of [true, false]) {
      const { limit, run } = loop()
      run(busyForMs, { counted: 2, waits })
      assert.equal(limit.limit, fewest)
    }
  })

  it('gets no limit for a garbage collection, or if it rests in one of five windows', () => {
    const { limit, run, stall } = loop()
    for (let i = 0; i < 50; i++) {
      stall(busyForMs / 2)
      run(busyForMs, { busy: 0.5, counted: 500 })
    }
    assert.equal(limit.isSet, false)
    for (let i = 0; i < 50; i++) {
      run(4 * busyWindowMs, { counted: 500 })
      run(busyWindowMs, { busy: loopBusy - 0.1, counted: 500 })
    }
    assert.equal(limit.isSet, false)
  })

  it('halves its limit until the requests in service are 50 ms of work', () => {
    const { limit, run } = limitedTo(100)
    const limits: number[] = []
    for (let i = 0; i < 10; i++) {
      run(busyForMs, { answerEveryMs: 5 })
      limits.push(limit.limit)
    }
    const floor = loopWorkMs / 5
    assert.deepEqual(limits, [50, 25, 12, ...new Array<number>(7).fill(floor)])
  })

  it('gets no lower limit than 16 while nothing is in service for half of the time', () => {
    for (const [emptyShare, expected] of [
      [0.6, fewest],
      [0.4, 1],
    ] as const) {
      const { limit, run } = limitedTo(100)
      run(20 * busyForMs, { emptyShare })
      assert.equal(limit.limit, expected)
    }
  })

  it('gets no limit with limitsByLoop: false', () => {
    let busyMs = 0
    const limit = new LoopLimit(
      () => busyMs,
      () => busyMs,
      { ...LIMITER_TUNING, limitsByLoop: false },
      new Answered(),
    )
    for (let nowMs = 0; nowMs < 1000; nowMs += 5) {
      busyMs = nowMs
      if (nowMs >= limit.dueAt) limit.judge(nowMs, 500, true)
    }
    assert.deepEqual([limit.isSet, limit.scarceForMs >= busyForMs], [false, true])
  })

  it('keeps its limit while more requests than that are still in service', () => {
    const { limit, run } = limitedTo(100)
    run(10 * busyForMs, { counted: 101, answerEveryMs: 5 })
    assert.equal(limit.limit, 100)
    run(busyForMs, { counted: 100, answerEveryMs: 5 })
    assert.equal(limit.limit, 50)
  })

  it('gets a limit of one if a single request takes longer than 50 ms', () => {
    const { limit, run } = limitedTo(16)
    run(2000, { answerEveryMs: 500 })
    assert.equal(limit.limit, 1)
  })
})

describe('a loop that rests', () => {
  it('raises its limit by half in each window while requests wait', () => {
    const { limit, run } = limitedTo(40)
    run(busyWindowMs, { busy: 0.5 })
    assert.equal(limit.limit, 40 * grows)
    run(busyWindowMs, { busy: 0.5 })
    assert.equal(limit.limit, 40 * grows ** 2)
  })

  it('does not raise its limit if none waits, or fewer requests than the limit are in service', () => {
    const { limit, run } = limitedTo(40)
    run(1000, { busy: 0.5, waits: false })
    run(1000, { busy: 0.5, counted: 39 })
    assert.equal(limit.limit, 40)
  })

  it('raises a limit of one to two', () => {
    const { limit, run } = limitedTo(16)
    run(2000, { answerEveryMs: 500 })
    run(busyWindowMs, { busy: 0.5 })
    assert.equal(limit.limit, 2)
  })

  it('keeps its raised limit for 16 s, even if it is busy again', () => {
    const { limit, run } = limitedTo(40)
    run(busyWindowMs, { busy: 0.5 })
    run(lookMs - 2 * busyWindowMs, {})
    assert.equal(limit.limit, 40 * grows)
    run(2 * busyWindowMs, {})
    assert.ok(limit.limit <= (40 * grows) / 2, `${limit.limit}`)
  })
})

it('a busy loop gets no limit while requests take as long as while it was idle', () => {
  const { limit, run } = loop()
  run(2000, { busy: 0.5, answerEveryMs: 10 })
  run(2000, { counted: 50, answerEveryMs: 10 })
  assert.deepEqual([limit.isSet, limit.scarceForMs >= busyForMs, limit.isBusy], [false, false, true])
  run(busyForMs + busyWindowMs, { counted: 50 })
  assert.deepEqual([limit.limit, limit.scarceForMs >= busyForMs], [50, true])
})

it('scarceForMs is how long the loop has been busy, in whole windows', () => {
  const { limit, run } = loop()
  run(busyWindowMs, {})
  assert.deepEqual([limit.isBusy, limit.scarceForMs >= busyForMs], [true, false])
  run(busyForMs, {})
  assert.deepEqual([limit.isBusy, limit.scarceForMs >= busyForMs], [true, true])
  run(busyWindowMs, { busy: 0.5 })
  assert.deepEqual([limit.isBusy, limit.scarceForMs >= busyForMs], [false, false])
})

it('forget() removes the limit, and a busy loop gets a new one', () => {
  const { limit, run } = limitedTo(40)
  limit.forget()
  assert.equal(limit.isSet, false)
  run(busyForMs, { counted: 30 })
  assert.equal(limit.limit, 30)
})

it('property: a limit is a whole number, and does not fall below 50 ms of work', () => {
  const load = fc.record({
    ms: fc.integer({ min: 1, max: 400 }),
    busy: fc.constantFrom(0, 0.5, 1),
    counted: fc.nat(300),
    waits: fc.boolean(),
  })
  const everyMs = fc.integer({ min: 1, max: 40 })
  fc.assert(
    fc.property(everyMs, fc.array(load, { maxLength: 60, size: 'max' }), (answerEveryMs, loads) => {
      const { limit, run } = loop()
      for (const { ms, ...each } of loads) {
        const before = limit.limit
        run(ms, { ...each, answerEveryMs })
        if (!limit.isSet) continue
        assert.ok(Number.isInteger(limit.limit), `${limit.limit}`)
        // One answer more or less in the shortest judged time is allowed.
        const floor = (loopWorkMs / answerEveryMs) * (1 - answerEveryMs / busyForMs) - 0.5
        assert.ok(limit.limit >= Math.min(before, floor, fewest), `${limit.limit} after ${before}, floor ${floor}`)
      }
    }),
  )
})

describe('a loop that is busy only because other processes have the core', () => {
  const starved = { cpu: 0.05, counted: 70 }

  it('gets no limit before four requests were answered', () => {
    const { limit, run, answered } = loop()
    run(promiseMs / 2, starved)
    assert.equal(limit.isSet, false)
    for (let i = 0; i < 3; i++) answered.add(300)
    run(busyForMs, starved)
    assert.equal(limit.isSet, false)
    answered.add(300)
    run(busyWindowMs, starved)
    assert.equal(limit.limit, 70)
  })

  it('gets a limit after a second, however few requests were answered', () => {
    const { limit, run } = loop()
    run(promiseMs - 1, starved)
    assert.equal(limit.isSet, false)
    run(busyWindowMs, starved)
    assert.equal(limit.limit, 70)
  })

  it('keeps its limit for a second if fewer than four requests are answered', () => {
    const { limit, run } = limitedTo(70)
    run(promiseMs - busyWindowMs, starved)
    assert.equal(limit.limit, 70)
    run(2 * busyWindowMs, starved)
    assert.equal(limit.limit, 35)
  })

  it('lowers its limit earlier if four requests were answered under it', () => {
    const { limit, run, answered } = limitedTo(70)
    for (let i = 0; i < 4; i++) answered.add(300)
    run(busyForMs + busyWindowMs, starved)
    assert.equal(limit.limit, 35)
  })

  it('gets a limit once it has worked for 100 ms', () => {
    const { limit, run } = loop()
    const quarter = { ...starved, cpu: 0.25 }
    run(3 * busyForMs, quarter)
    assert.equal(limit.isSet, false)
    run(busyForMs, quarter)
    assert.equal(limit.limit, 70)
  })
})
