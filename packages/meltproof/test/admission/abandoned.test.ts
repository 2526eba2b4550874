/** When meltproof frees the permit of a request whose client has left but whose handler still runs. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Gate } from '../../src/admission/gate.ts'
import { Abandoned } from '../../src/admission/in-service/abandoned.ts'
import { Permit } from '../../src/admission/in-service/permit.ts'
import { Permits } from '../../src/admission/in-service/permits.ts'
import { type Serving, ServiceTimes } from '../../src/admission/in-service/service-times.ts'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { LIMITER_TUNING } from '../../src/admission/limiter/tuning.ts'

function service() {
  const stays = new ServiceTimes<Serving>()
  const abandoned = new Abandoned<Serving>(stays)
  return {
    stays,
    abandoned,
    start(startedAt = 0, kind = 1): Serving {
      const stay = { startedAt, servingSince: startedAt, serviceBucket: 0, answeredThen: 0 }
      stays.started(stay, kind)
      return stay
    },
    /** `count` requests of a kind arrive and are answered within `ms`. */
    answer(count: number, kind = 1, ms = 1): void {
      for (let i = 0; i < count; i++) stays.answered(this.start(0, kind), ms)
    },
  }
}

describe('abandoned work is treated as finished', () => {
  it('after twice the service time of a request of its kind that was answered in that time', () => {
    const { abandoned, start, stays } = service()
    stays.answered(start(), 100)
    const [hung, next] = [start(100), start(100)]
    abandoned.add(hung, 110)
    assert.deepEqual(abandoned.takeTreatedAsFinished(320, 100), [], 'nothing was answered since')
    stays.answered(next, 200)
    assert.deepEqual(abandoned.takeTreatedAsFinished(299, 100), [])
    assert.deepEqual(abandoned.takeTreatedAsFinished(300, 100), [hung])
    assert.equal(abandoned.count, 0)
  })

  it('not within 0.5 s if only requests of other kinds are answered', () => {
    const { abandoned, start, answer, stays } = service()
    abandoned.add(start(0, 1), 0)
    answer.call({ start, stays }, 1000, 2)
    assert.deepEqual(abandoned.takeTreatedAsFinished(499, 100), [])
  })

  it('one request after 0.5 s, and each next one after twice the pause, if nothing is answered', () => {
    const { abandoned, start } = service()
    for (let i = 0; i < 100; i++) abandoned.add(start(), 0)
    const at: number[] = []
    for (let half = 0; half <= 64; half++) {
      for (const _ of abandoned.takeTreatedAsFinished(half * 500, 100)) at.push(half)
    }
    assert.deepEqual(at, [1, 3, 7, 15, 31, 63])
  })

  it('not while handlers of abandoned requests are seen to end', () => {
    const { abandoned, start } = service()
    const stays = Array.from({ length: 100 }, () => start())
    for (const stay of stays) abandoned.add(stay, 0)
    for (let i = 0; i < 50; i++) {
      abandoned.ended(stays[i]!, i * 400)
      assert.deepEqual(abandoned.takeTreatedAsFinished(i * 400 + 399, 100), [])
    }
    assert.equal(abandoned.count, 50)
  })

  it('the second request only after five minutes while the first is known to be still at work', () => {
    for (const [atWork, untilMs] of [
      [false, 1000],
      [true, 300_000],
    ] as const) {
      const { abandoned, start, answer, stays } = service()
      const [hung, next] = [start(), start()]
      abandoned.add(hung, 0, { isAtWork: () => atWork })
      abandoned.add(next, 0)
      answer.call({ start, stays }, 1000)
      assert.deepEqual(abandoned.takeTreatedAsFinished(10, 1), [hung])
      assert.deepEqual(abandoned.takeTreatedAsFinished(untilMs - 1, 1), [])
      assert.deepEqual(abandoned.takeTreatedAsFinished(untilMs, 1), [next])
    }
  })
})

interface World {
  readonly permits: number
  readonly perSecond: number
  /** One in `oneIn` hangs for `ms`; the others take 20 ms. */
  readonly hangs: { readonly oneIn: number; readonly ms: number }
  /** One in `oneIn` has a client that leaves after `afterMs`. */
  readonly leave: { readonly oneIn: number; readonly afterMs: number }
  /** Whether the gate sees handlers end whose client has left. */
  readonly tells: boolean
  readonly seconds: number
}

interface Simulated {
  readonly most: number
  /** Answers per second to clients that stayed. */
  readonly answered: number
}

/** Quick requests of 20 ms, a limit, and clients that leave. A request without a permit is shed. */
function simulate({ permits, perSecond, hangs, leave, tells, seconds }: World): Simulated {
  const { stays, abandoned, start } = service()
  interface Request {
    readonly stay: Serving
    readonly endsAt: number
    readonly leavesAt: number
    left: boolean
    holds: boolean
  }
  const working = new Set<Request>()
  const holders = new Map<Serving, Request>()
  const giveBack = (request: Request): void => {
    request.holds = false
    holders.delete(request.stay)
  }
  let most = 0
  let answered = 0
  let came = 0
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs++) {
    for (const request of working) {
      if (request.endsAt <= nowMs) {
        working.delete(request)
        if (!request.left) {
          answered++
          giveBack(request)
          stays.answered(request.stay, nowMs)
        } else if (tells) {
          abandoned.ended(request.stay, nowMs)
          if (request.holds) {
            giveBack(request)
            stays.gone(request.stay)
          }
        }
      } else if (!request.left && request.leavesAt <= nowMs) {
        request.left = true
        abandoned.add(request.stay, nowMs)
      }
    }
    if (nowMs % 10 === 0) {
      for (const stay of abandoned.takeTreatedAsFinished(nowMs, permits)) {
        giveBack(holders.get(stay)!)
        stays.gone(stay)
      }
    }
    for (; came < (nowMs * perSecond) / 1000; came++) {
      if (holders.size >= permits) continue
      const stay = start(nowMs)
      const endsAt = nowMs + (came % hangs.oneIn === hangs.oneIn - 1 ? hangs.ms : 20)
      const leavesAt = came % leave.oneIn === 0 ? nowMs + leave.afterMs : Number.POSITIVE_INFINITY
      const request = { stay, endsAt, leavesAt, left: false, holds: true }
      working.add(request)
      holders.set(stay, request)
    }
    most = Math.max(most, working.size)
  }
  return { most, answered: answered / seconds }
}

describe('a limit of 16 and quick requests, some of which hang', () => {
  const NEVER = { oneIn: Number.POSITIVE_INFINITY, ms: 0 }
  const world: World = {
    permits: 16,
    perSecond: 400,
    hangs: { oneIn: 57, ms: 6000 },
    leave: { oneIn: 1, afterMs: 500 },
    tells: true,
    seconds: 60,
  }
  const STAY = { oneIn: Number.POSITIVE_INFINITY, afterMs: 0 }
  const worlds: Readonly<Record<string, Partial<World>>> = {
    'for 6 s': {},
    'for 9 s, ending silently': { hangs: { oneIn: 57, ms: 9000 }, tells: false },
    'for 10 s': { hangs: { oneIn: 57, ms: 10_000 } },
    'one in ten, for 6 s': { hangs: { oneIn: 10, ms: 6000 } },
    'for 6 s, and one client in seven leaves at once': { leave: { oneIn: 7, afterMs: 5 } },
    'for 6 s, and all leave after 100 ms': { leave: { oneIn: 1, afterMs: 100 } },
    'for 6 s, and all leave after 50 ms': { leave: { oneIn: 1, afterMs: 50 } },
    'one in four, for 6 s, and all leave after 50 ms': {
      hangs: { oneIn: 4, ms: 6000 },
      leave: { oneIn: 1, afterMs: 50 },
    },
  }
  for (const [name, change] of Object.entries(worlds)) {
    it(`${name}: at most 32 handlers run, with 90 % of the answers that patient clients get`, () => {
      const { most, answered } = simulate({ ...world, ...change })
      const patient = simulate({ ...world, ...change, leave: STAY })
      assert.ok(most <= 32, `${most} at work`)
      assert.ok(answered >= 0.9 * patient.answered, `${answered} a second, patient ${patient.answered}`)
    })
  }

  it('for 6 s, with handlers that end silently: at most 32 run, and at most a sixth of the answers is lost', () => {
    const { most, answered } = simulate({ ...world, tells: false })
    const patient = simulate({ ...world, leave: STAY })
    assert.ok(most <= 32, `${most} at work`)
    assert.ok(answered >= (5 / 6) * patient.answered, `${answered} a second, patient ${patient.answered}`)
  })

  for (const [name, change] of Object.entries({
    'a tenth of the clients leaves at once': { leave: { oneIn: 10, afterMs: 5 } },
    'half of the clients leaves at once': { leave: { oneIn: 2, afterMs: 5 } },
  })) {
    it(`${name}, with handlers that end silently and never hang: 90 % of the answers remain`, () => {
      const silent = { ...world, ...change, hangs: NEVER, tells: false }
      const { answered } = simulate(silent)
      const told = simulate({ ...silent, tells: true })
      assert.ok(answered >= 0.9 * told.answered, `${answered} a second, ${told.answered} where handlers tell`)
    })
  }
})

describe('the least time a request needs', () => {
  it('is the time that all requests of its kind take, while one of them is in service', () => {
    const { stays, start, answer } = service()
    const world = { stays, start, answer }
    world.answer(100, 1, 200)
    assert.equal(stays.leastMs(1), 0, 'nothing is in service: nothing is known of now')
    start()
    assert.ok(Math.abs(stays.leastMs(1) - 200) < 1, `${stays.leastMs(1)} ms`)
    assert.equal(stays.leastMs(2), 0)
  })

  it('is 0 if the times of its kind vary widely', () => {
    const { stays, start, answer } = service()
    const world = { stays, start, answer }
    for (let i = 0; i < 50; i++) world.answer(1, 1, i % 2 === 0 ? 5 : 400)
    start()
    assert.equal(stays.leastMs(1), 0)
  })
})

describe('handlers that never end', () => {
  it('give their permits back at the maximum limit too, when nothing else limits', () => {
    class Work extends Permit<Work> {}
    const limiter = new ConcurrencyLimiter(() => 0, { ...LIMITER_TUNING, max: 100 })
    const nothing = (): void => {}
    const hooks = {
      now: () => 0,
      turn: () => 0,
      start: nothing,
      shed: nothing,
      wakeAtTurnEnd: nothing,
      wakeAfter: nothing,
    }
    const gate = new Gate<Work>(limiter, hooks)
    const permits = new Permits<Work>(gate)
    const come = (nowMs: number): Work => {
      const work = new Work(nowMs)
      gate.enter(nowMs, work)
      permits.give(work, nowMs)
      return work
    }
    for (let second = 0; second < 100; second++) permits.giveUp(come(second * 1000), second * 1000)
    for (let ms = 100_000; ms < 101_000; ms += 5) permits.reclaim(ms)
    assert.equal(gate.full, false)
  })
})
