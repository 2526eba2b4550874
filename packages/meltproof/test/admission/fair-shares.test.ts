/** Fairness between kinds of requests: the arithmetic, the kind of a path, and the effect on a service. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { FairShares } from '../../src/admission/fairness/fair-shares.ts'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { STANDING_TUNING, StandingQueue } from '../../src/admission/queue/standing-queue.ts'
import { type SimTally, simulate } from '../../sim/service.ts'
import type { Step, Workload } from '../../sim/workload.ts'

/** Feeds two windows of arrivals: each kind has a rate per second and a service time. */
function asked(limit: number, kinds: Readonly<Record<number, { rate: number; ms: number }>>): FairShares {
  const shares = new FairShares(32)
  shares.reset(0)
  for (const [kind, { ms }] of Object.entries(kinds)) shares.served(Number(kind), ms)
  for (let atMs = 1; atMs <= 400; atMs++) {
    for (const [kind, { rate }] of Object.entries(kinds)) {
      const many = Math.floor((atMs * rate) / 1000) - Math.floor(((atMs - 1) * rate) / 1000)
      for (let i = 0; i < many; i++) shares.arrived(Number(kind), atMs, limit)
    }
  }
  return shares
}

/** The time at which {@link asked} ends, ms. */
const NOW = 400

/** Counts how many requests of a kind may come first within `ms` from NOW on, under unlimited demand. */
function first(shares: FairShares, kind: number, ms: number): number {
  let came = 0
  for (let atMs = NOW; atMs <= NOW + ms; atMs++) {
    for (; shares.within(kind, atMs); came++) shares.comesFirst(kind)
  }
  return came
}

describe('fair shares', () => {
  it('admit a kind below an equal share, and not one above it', () => {
    const shares = asked(10, { 3: { rate: 200, ms: 1 }, 7: { rate: 1000, ms: 100 }, 9: { rate: 50, ms: 40 } })
    assert.deepEqual(
      [3, 9, 7, 20].map(kind => shares.within(kind, NOW)),
      [true, true, false, false],
    )
  })

  it('never admit a single kind', () => {
    assert.equal(asked(10, { 1: { rate: 10, ms: 1 } }).within(1, NOW), false)
  })

  it('admit a kind above an equal share up to that share, however much others send', () => {
    const shares = asked(10, { 1: { rate: 60, ms: 100 }, 2: { rate: 5000, ms: 100 }, 3: { rate: 80, ms: 100 } })
    assert.deepEqual([first(shares, 1, 1000), first(shares, 3, 1000)], [30, 30])
    assert.equal(first(shares, 2, 1000), 0, 'who asks for most has what they leave')
  })

  it('stop admitting a kind whose rate jumps, within two windows', () => {
    const shares = asked(10, { 3: { rate: 200, ms: 1 }, 7: { rate: 1000, ms: 100 } })
    const came = first(shares, 3, 0)
    assert.ok(came > 40 && came < 80, `${came} of a window's 40`)
  })

  it('do not count the wait for a shared pool as work of a kind', () => {
    const shares = asked(30, { 3: { rate: 300, ms: 4 }, 7: { rate: 1000, ms: 90 } })
    for (let atMs = NOW + 1; atMs <= 2 * NOW; atMs++) {
      for (const [kind, ms] of atMs % 3 === 0
        ? ([
            [3, 204],
            [7, 290],
          ] as const)
        : ([[7, 290]] as const)) {
        shares.served(kind, ms)
        shares.arrived(kind, atMs, 30)
      }
    }
    assert.deepEqual(
      [3, 7].map(kind => shares.within(kind, 2 * NOW)),
      [true, false],
    )
  })

  it('are reset when another queue begins', () => {
    const shares = asked(10, { 3: { rate: 200, ms: 1 }, 7: { rate: 1000, ms: 100 } })
    shares.reset(1000)
    assert.equal(shares.within(3, 1000), false)
  })
})

describe('a flood of heavy requests', () => {
  const heavy = (): Step[] => [{ cpu: 5 }, 'yield', { cpu: 5 }, 'yield', { cpu: 5 }, 'yield', { cpu: 5 }]
  const run = (cheap: Step[], heavyRate: number, seed: number): readonly SimTally[] => {
    const rate = 200 + heavyRate
    const kinds = [
      { share: 200 / rate, steps: () => cheap },
      { share: heavyRate / rate, steps: heavy },
    ]
    const workload: Workload = { rate: () => rate, steps: heavy, kinds }
    return simulate(workload, { seconds: 30, seed, limiter: busyMs => new ConcurrencyLimiter(busyMs) }).kinds
  }

  for (const times of [2, 10]) {
    it(`at ${times} times the capacity leaves cheap requests 90 % of their goodput, and gets the rest`, () => {
      for (const seed of [1, 2, 3]) {
        const [cheap, flood] = run([{ cpu: 0.2 }], 48 * times, seed)
        assert.ok(cheap!.good >= 0.9 * cheap!.offered, `seed ${seed}: ${cheap!.good} of ${cheap!.offered}`)
        assert.ok(flood!.good / 15 >= 40, `seed ${seed}: ${flood!.good / 15}/s of the heavy ones`)
      }
    })
  }
})

it('lists keep 55 % of their goodput during a flood of searches in a shared pool', () => {
  const steps = (ms: number) => (): Step[] => [{ cpu: 0.1 }, { pool: ms }, { cpu: 0.1 }]
  const kinds = [
    { share: 0.6, steps: steps(4) },
    { share: 0.4, steps: steps(90) },
  ]
  const workload: Workload = { rate: () => 1000, steps: () => [], kinds, poolSize: 12 }
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const { kinds: tallies } = simulate(workload, {
      seconds: 30,
      seed,
      limiter: busyMs => new ConcurrencyLimiter(busyMs),
    })
    const [lists, searches] = tallies
    assert.ok(lists!.good >= 0.55 * lists!.offered, `seed ${seed}: ${lists!.good} of ${lists!.offered}`)
    assert.ok(searches!.good / 15 >= 90, `seed ${seed}: ${searches!.good / 15}/s of the searches`)
  }
})

describe('a queue in front of cheap and heavy requests', () => {
  it('counts as standing although requests leave in bursts', () => {
    const queue = new StandingQueue(fixedLimit(3), { shed: () => undefined })
    let standingSince = Number.POSITIVE_INFINITY
    for (let atMs = 0; atMs < 2000; atMs++) {
      // 600 a second arrive. Every 20 ms a heavy one leaves, with five cheap ones behind it.
      if (atMs % 5 < 3) queue.push({ arrivedAt: atMs, dequeued: false }, atMs)
      for (let i = 0; atMs % 20 === 0 && i < 6 && queue.next(atMs + i / 10) !== undefined; i++)
        queue.departed(atMs + i / 10)
      queue.expire(atMs + 0.9)
      if (queue.standing) standingSince = Math.min(standingSince, atMs)
    }
    // The expected wait grows by a millisecond each millisecond, so the queue does not count as shrinking.
    const { drains, intervalMs, intervalsToStand, promiseMs } = STANDING_TUNING
    assert.ok(standingSince < drains * promiseMs + (intervalsToStand + 0.5) * intervalMs, `${standingSince} ms`)
  })
})
