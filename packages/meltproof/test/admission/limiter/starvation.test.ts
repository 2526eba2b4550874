/** The limiter tests whether long requests block the others by admitting a few more. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Answered } from '../../../src/admission/limiter/answers.ts'
import { CountedRequests } from '../../../src/admission/limiter/counted-requests.ts'
import { Starvation } from '../../../src/admission/limiter/starvation.ts'
import { LIMITER_TUNING } from '../../../src/admission/limiter/tuning.ts'

const { leastWindowMs, quietTrial, starved, starvedOf } = LIMITER_TUNING
const LIMIT = 40
const WINDOW_MS = 300
/** The expected time of a request, ms. */
const SPAN_MS = leastWindowMs / 2
/** The usual answers per ms: {@link USUAL} in the shortest judged time. */
const RATE = starvedOf / leastWindowMs
const USUAL = starvedOf

/** A limit of 40, under which requests usually leave at {@link RATE}, and `staying` older requests that stay. */
function service(staying: number) {
  const requests = new CountedRequests(2000)
  const answered = new Answered()
  const starvation = new Starvation(LIMITER_TUNING, requests, answered)
  let nowMs = 10_000
  let rate = RATE
  requests.advance(nowMs)
  requests.limited(nowMs, WINDOW_MS, 1000)
  for (let i = 0; i < staying; i++) requests.add()
  nowMs += 1000
  requests.advance(nowMs)
  starvation.begin(nowMs)
  return {
    requests,
    starvation,
    answered,
    get nowMs() {
      return nowMs
    },
    get rate() {
      return rate
    },
    /** Lets `leave` requests leave in the judged time, and then acts like the limiter. */
    judge(leave: number, { waits = true, serviceMs = SPAN_MS, drains = false } = {}): string | undefined {
      nowMs += starvedOf / rate
      requests.advance(nowMs)
      for (let i = 0; i < leave; i++) answered.add(serviceMs)
      const judged = starvation.judge(nowMs, waits, rate, SPAN_MS)
      const excess = Math.max(0, requests.inService - requests.uncounted - LIMIT)
      if (judged === 'fed') starvation.fed(LIMIT, drains)
      else if (judged === 'starved') rate = starvation.starved(nowMs, rate, LIMIT, excess)
      return judged
    },
  }
}

/** The service was not starved, so LIMIT old requests are uncounted. LIMIT more old requests hold all the permits. */
function fullOfOld() {
  const at = service(2 * LIMIT)
  at.judge(USUAL)
  assert.equal(at.requests.uncounted, LIMIT)
  return at
}

describe('requests are starved', () => {
  it('if fewer than 60 % of the usual number leave while others wait', () => {
    assert.equal(starved, 0.6)
    const enough = Math.ceil(starved * USUAL)
    assert.equal(service(0).judge(enough - 1), 'starved')
    assert.equal(service(0).judge(enough - 1, { waits: false }), 'fed')
    assert.equal(service(0).judge(enough), 'fed')
  })

  it('only after the time of two dozen usual departures, two service times and a tenth of a second', () => {
    const judge = (ms: number, rate: number, spanMs: number): string | undefined => {
      const { nowMs, starvation } = service(0)
      return starvation.judge(nowMs + ms, true, rate, spanMs)
    }
    for (const [ms, rate, spanMs] of [
      [starvedOf / 0.1, 0.1, 1],
      [leastWindowMs, 10, 1],
      [400, 10, 200],
    ] as const) {
      assert.equal(judge(ms - 1, rate, spanMs), undefined)
      assert.equal(judge(ms, rate, spanMs), 'starved')
    }
  })

  it('even if many quick requests leave, because slow ones hold the permits', () => {
    const { nowMs, starvation, answered } = service(0)
    for (let i = 0; i < 1000; i++) answered.add(0.1)
    for (let i = 0; i < 10; i++) answered.add(50)
    assert.equal(starvation.judge(nowMs + 1000, true, 0.1, SPAN_MS), 'starved')
  })
})

describe('a trial', () => {
  it('lets in an eighth of the limit more if no request leaves, else half of it', () => {
    assert.equal(quietTrial, 8)
    for (const [leave, share] of [
      [0, quietTrial],
      [5, 2],
    ] as const) {
      const { judge, requests } = fullOfOld()
      judge(leave)
      assert.equal(requests.allowed, LIMIT + LIMIT / share)
    }
  })

  it('also allows for requests above the limit that started before it', () => {
    const { judge, requests } = service(3 * LIMIT)
    judge(0)
    assert.equal(requests.allowed, 2 * LIMIT + LIMIT / quietTrial)
  })

  it('keeps the old requests uncounted if its own requests leave', () => {
    const { judge, requests } = fullOfOld()
    judge(5)
    const allowed = requests.allowed
    for (let i = 0; i < 20; i++) assert.equal(judge(USUAL), 'fed')
    assert.equal(requests.allowed, allowed)
    assert.ok(requests.uncounted > LIMIT, `${requests.uncounted} are left out`)
  })

  it('whose requests leave is followed by another while too few leave', () => {
    const at = fullOfOld()
    at.judge(0)
    const first = at.requests.allowed
    assert.equal(at.judge(LIMIT / quietTrial), 'starved')
    assert.ok(at.requests.allowed > first, `${at.requests.allowed} after ${first}`)
    assert.equal(at.rate, RATE)
  })

  it('whose requests stay is undone, and another starts after a window', () => {
    const { judge, requests } = fullOfOld()
    judge(0)
    judge(0)
    assert.equal(requests.allowed, LIMIT)
    for (let ms = leastWindowMs; ms < requests.windowMs; ms += leastWindowMs) {
      judge(0)
      assert.equal(requests.allowed, LIMIT, `after ${ms} ms`)
    }
    judge(0)
    assert.ok(requests.allowed > LIMIT)
  })

  it('that fails repeatedly halves the usual rate, down to the actual one', () => {
    const at = fullOfOld()
    const leaves = (): number => Math.round((0.25 * RATE * starvedOf) / at.rate)
    const rates: number[] = []
    for (let i = 0; i < 200; i++) {
      at.judge(leaves())
      rates.push(at.rate)
    }
    assert.deepEqual([...new Set(rates)].slice(0, 2), [RATE, RATE / 2])
    assert.ok(at.rate <= 0.5 * RATE && at.rate >= 0.24 * RATE, `${at.rate}/ms of ${RATE}/ms`)
    assert.equal(at.judge(leaves()), 'fed')
    assert.ok(at.requests.allowed <= 2 * LIMIT, 'the trials have left nothing behind')
  })

  it('that fails sets the usual rate to the actual one if that is more than half of it', () => {
    const at = fullOfOld()
    const share = (Math.ceil(starved * USUAL) - 1) / USUAL
    assert.ok(share > 0.5)
    for (let i = 0; i < 60; i++) at.judge(Math.round((share * RATE * starvedOf) / at.rate))
    assert.ok(at.rate >= 0.99 * share * RATE && at.rate < RATE, `${at.rate}/ms, and ${share * RATE}/ms leave`)
  })

  it('is repeated less and less often while no request leaves', () => {
    const at = fullOfOld()
    let trials = 0
    for (const from = at.nowMs; at.nowMs < from + 600_000; ) {
      at.judge(0)
      if (at.requests.allowed > LIMIT) trials++
    }
    assert.ok(trials >= 10 && trials <= 60, `${trials} trials in ten minutes`)
    assert.ok(at.rate < 0.01 * RATE, `${at.rate}/ms`)
  })
})

describe('requests that are not starved', () => {
  it('leave as many old requests as the limit uncounted, without a trial', () => {
    const { judge, requests } = service(3 * LIMIT)
    judge(USUAL)
    assert.equal(requests.uncounted, LIMIT)
  })

  it('leave no request uncounted while requests from before the limit drain', () => {
    const { judge, requests } = service(LIMIT)
    judge(USUAL, { drains: true })
    assert.equal(requests.uncounted, 0)
  })

  it('leave fewer requests uncounted when old ones have left, but at least the limit', () => {
    const { judge, requests } = service(4 * LIMIT)
    judge(0)
    judge(USUAL)
    const most = requests.allowed
    assert.ok(most > 3 * LIMIT, `${most}`)
    for (let i = 0; i < 2 * LIMIT + 1; i++) requests.remove(10_000)
    judge(USUAL)
    assert.ok(requests.allowed >= 3 * LIMIT - 2 && requests.allowed < most, `${requests.allowed}`)
    assert.ok(Number.isInteger(requests.allowed), 'or the limit is no whole number')
    for (let i = 0; i < 2 * LIMIT - 1; i++) requests.remove(10_000)
    judge(USUAL)
    assert.equal(requests.allowed, LIMIT)
  })
})
