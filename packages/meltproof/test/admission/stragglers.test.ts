/** Who outstays: whoever has been overtaken several times over, while the loop has time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GATE_TUNING } from '../../src/admission/gate.ts'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { Stragglers, type StragglerTuning } from '../../src/admission/in-service/stragglers.ts'
import { type Serving, ServiceTimes } from '../../src/admission/in-service/service-times.ts'
import { goodRate } from '../../sim/figures.ts'
import { scenario } from '../../sim/scenarios.ts'
import { simulate } from '../../sim/service.ts'
import type { Step, Workload } from '../../sim/workload.ts'

const TUNING = { straggleMs: 300, overtakenBy: 2, restsBelow: 0.9, mostStragglers: 3 }

interface Service {
  readonly stays: ServiceTimes<Serving>
  readonly stragglers: Stragglers<Serving>
}

function service(): Service {
  const stays = new ServiceTimes<Serving>()
  return { stays, stragglers: new Stragglers(stays, TUNING) }
}

/** One that starts at `startedAt`, of a kind. */
function start({ stays }: Service, startedAt = 0, kind = 1): Serving {
  const stay = { startedAt, servingSince: 0, kindNoted: 0, answeredThen: 0, besideThen: 0 }
  stays.started(stay, kind)
  return stay
}

/** So many come and are answered, or leave without an answer. */
function pass(at: Service, count: number, kind = 1, answered = true): void {
  for (let i = 0; i < count; i++) {
    if (answered) at.stays.answered(start(at, 0, kind), 0)
    else at.stays.gone(start(at, 0, kind))
  }
}

/** Two looks, since the first has nothing to compare with; the loop was busy for so much of the 50 ms between them. */
function look(at: Service, nowMs: number, busyMs = 0): boolean {
  at.stragglers.look(nowMs - 50, 1000)
  return at.stragglers.look(nowMs, 1000 + busyMs)
}

/** It outstays once so many more of its kind have been answered, and not before. */
function stragglesAfter(at: Service, stay: Serving, answers: number): void {
  pass(at, answers - 1, stay.kindNoted)
  look(at, 1000)
  assert.equal(at.stragglers.has(stay), false)
  pass(at, 1, stay.kindNoted)
  assert.equal(at.stragglers.has(stay), true)
}

describe('a request outstays', () => {
  it('when twice as many have been answered since it came as are in service', () => {
    const at = service()
    const stay = start(at)
    for (let i = 0; i < 4; i++) start(at)
    stragglesAfter(at, stay, 10)
  })

  it('not when fewer are in service now than were when it came: it may be the turn of those', () => {
    const at = service()
    const before = Array.from({ length: 9 }, () => start(at))
    const stay = start(at)
    for (const each of before) at.stays.answered(each, 0)
    stragglesAfter(at, stay, 11)
  })

  it('not by those of another kind, which may not need what it needs', () => {
    const at = service()
    const stay = start(at, 0, 7)
    pass(at, 1000, 8)
    look(at, 1000)
    assert.equal(at.stragglers.has(stay), false)
    pass(at, 2, 7)
    assert.equal(at.stragglers.has(stay), true)
  })

  it('not by those whose clients have gone', () => {
    const at = service()
    const stay = start(at)
    pass(at, 1000, 1, false)
    look(at, 1000)
    assert.equal(at.stragglers.has(stay), false)
  })

  it('not in its first moments', () => {
    const at = service()
    const stay = start(at)
    pass(at, 100)
    look(at, 299)
    assert.equal(at.stragglers.has(stay), false)
    assert.equal(at.stragglers.tooShort(stay), true)
    look(at, 400)
    assert.equal(at.stragglers.has(stay), true)
    assert.equal(at.stragglers.tooShort(stay), false)
  })

  it('not while the loop never rests', () => {
    const at = service()
    assert.equal(look(at, 1000, 46), false)
    assert.equal(look(at, 2000, 44), true)
  })

  it('nor because it rested for a moment, or before somebody had to wait', () => {
    const at = service()
    at.stragglers.look(1000, 0)
    assert.equal(at.stragglers.look(1010, 0), false, 'too short a time to tell')
    assert.equal(at.stragglers.look(1030, 29), false, 'the moment is part of what is judged')
    assert.equal(at.stragglers.look(9000, 29), false, 'too long')
    assert.equal(at.stragglers.look(9030, 29), true)
  })

  it('counted from when it has its body', () => {
    const at = service()
    const stay = start(at)
    pass(at, 100)
    at.stays.again(stay, 900)
    look(at, 1199)
    assert.equal(at.stragglers.has(stay), false)
    look(at, 1300)
    assert.equal(at.stragglers.has(stay), false)
    pass(at, 2)
    assert.equal(at.stragglers.has(stay), true)
  })

  it('as long as not too many do', () => {
    const at = service()
    const three = Array.from({ length: 3 }, () => start(at))
    for (const each of three) at.stragglers.goesOn(each)
    assert.equal(at.stragglers.full, true)
    assert.equal(look(at, 1000), false)
    at.stragglers.ended(three[0]!)
    assert.equal(look(at, 2000), true)
  })
})

/** Answered in time, per second, after the first five. */
function goodOf(workload: Workload, seed: number, tuning: Partial<StragglerTuning>): number {
  const limiter = (busyMs: () => number): ConcurrencyLimiter => new ConcurrencyLimiter(busyMs)
  return goodRate(simulate(workload, { seconds: 40, seed, tuning: { ...GATE_TUNING, ...tuning }, limiter }), 5)
}

/** 31 requests/s that work for 300 ms, 2 ms in a turn, beside cheap ones: ten times what the core can do. */
function cheapBesideHeavy(): Workload {
  const heavy = Array.from({ length: 150 }, (): Step[] => [{ cpu: 2 }, 'yield']).flat()
  const cheap: Step[] = [{ cpu: 0.5 }]
  return { rate: () => 310, steps: random => (random.next() < 0.1 ? heavy : cheap) }
}

it('those who take long because they work make no room for more of their kind', () => {
  for (const seed of [1, 2, 3]) {
    const [shipped, never, careless] = [{}, { mostStragglers: 0 }, { restsBelow: 2 }].map(tuning =>
      goodOf(cheapBesideHeavy(), seed, tuning),
    )
    assert.equal(shipped, never, 'nobody goes on')
    assert.notEqual(careless, never, 'of whom some would, if it did not matter whether the loop rests')
  }
})

/** The mean of four runs, as shipped, and if everybody kept his permit. */
function withAndWithout(workload: Workload): [shipped: number, never: number] {
  const mean = (tuning: Partial<StragglerTuning>): number =>
    [1, 2, 3, 4].reduce((sum, seed) => sum + goodOf(workload, seed, tuning) / 4, 0)
  return [mean({}), mean({ mostStragglers: 0 })]
}

it('one request in ten that waits 10 s: without it a core at ten times its capacity does less than it can', () => {
  const [shipped, never] = withAndWithout(scenario('the core at 10x, and one request in ten waits 10 s').workload)
  assert.ok(shipped > 185 && never < 0.95 * shipped, `${shipped} and ${never}/s`)
})

it('hits of a cache beside four times as many misses as their pool can serve: the hits are answered', () => {
  const steps = (random: { next(): number }): Step[] =>
    random.next() < 0.1 ? [{ cpu: 0.1 }, { pool: 400 }, { cpu: 0.1 }] : [{ cpu: 0.1 }, { wait: 1 }]
  const [shipped] = withAndWithout({ rate: () => 1000, steps })
  assert.ok(shipped > 850, `${shipped}/s`)
})
