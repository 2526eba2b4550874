/**
 * The failure modes of admission control, each as a scenario on the virtual clock: the real gate and the real law,
 * thousands of requests, no real time. The figures asserted are properties (nobody shed, goodput of what is possible),
 * and every scenario runs with several seeds.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KneeLaw } from '../../src/admission/knee-law.ts'
import { sharedCore } from '../../sim/core.ts'
import { quantile, type SimResult, simulate } from '../../sim/service.ts'
import type { Step, Workload } from '../../sim/workload.ts'

const SEEDS = [1, 2, 3, 4, 5]

/** 5 ms of CPU over five slices: capacity just below 200/s. */
const cpu5 = (): Step[] => [
  { cpu: 1 },
  'yield',
  { cpu: 1 },
  'yield',
  { cpu: 1 },
  'yield',
  { cpu: 1 },
  'yield',
  { cpu: 1 },
]
/** 50 ms in a pool of ten: capacity 200/s. */
const pool50 = (): Step[] => [{ cpu: 0.1 }, { pool: 50 }, { cpu: 0.1 }]

function eachSeed(workload: Workload, seconds: number, check: (result: SimResult, seed: number) => void): void {
  for (const seed of SEEDS) check(simulate(workload, { seconds, seed, law: busyMs => new KneeLaw(busyMs) }), seed)
}

const every = (periodMs: number, forMs: number, seconds: number): [number, number][] =>
  Array.from({ length: Math.floor((seconds * 1000) / periodMs) }, (_, i) => [(i + 0.5) * periodMs, forMs])

const goodRate = (result: SimResult, fromSecond: number, toSecond = result.seconds.length): number =>
  result.seconds.slice(fromSecond, toSecond).reduce((sum, second) => sum + second.good, 0) / (toSecond - fromSecond)

const shedShare = (result: SimResult): number => result.shed / result.offered

describe('nobody is shed', () => {
  const cases: [name: string, workload: Workload, seconds: number][] = [
    ['at 70 % load', { rate: () => 140, steps: cpu5 }, 60],
    [
      'at 60 % with a 100 ms garbage collection every second',
      { rate: () => 120, steps: cpu5, stalls: every(1000, 100, 60) },
      60,
    ],
    ['at 70 % with a 200 ms stall every 5 s', { rate: () => 140, steps: cpu5, stalls: every(5000, 200, 60) }, 60],
    ['at 60 % with a stall of a second', { rate: () => 120, steps: cpu5, stalls: [[5000, 1000]] }, 30],
    ['with synchronous handlers of 20 ms at 60 %', { rate: () => 30, steps: () => [{ cpu: 20 }] }, 60],
    ['at one request a second', { rate: () => 1, steps: pool50 }, 120],
    [
      'from a cold start at 1000/s with 100 ms of waiting',
      { rate: () => 1000, steps: () => [{ cpu: 0.1 }, { wait: 100 }, { cpu: 0.1 }] },
      10,
    ],
    [
      'when the mix shifts from a fast route to a slow one',
      { rate: () => 400, steps: (_, now) => [{ cpu: 0.2 }, { wait: now < 10_000 ? 5 : 200 }] },
      30,
    ],
    [
      'when one request in ten takes 10 s',
      { rate: () => 300, steps: random => [{ cpu: 0.1 }, { wait: random.next() < 0.1 ? 10_000 : 100 }] },
      40,
    ],
    ['at 80 % of a pool', { rate: () => 160, steps: pool50 }, 60],
  ]
  for (const [name, workload, seconds] of cases) {
    test(name, () => {
      eachSeed(workload, seconds, (result, seed) => {
        assert.ok(shedShare(result) < 0.001, `seed ${seed}: ${result.shed} of ${result.offered} shed`)
        assert.equal(result.inflightAtEnd, 0)
        assert.equal(result.queuedAtEnd, 0)
      })
    })
  }
})

describe('goodput stays at what is possible', () => {
  test('5 ms of CPU, 10x from a cold start: steady within a second', () => {
    eachSeed({ rate: () => 2000, steps: cpu5 }, 10, (result, seed) => {
      assert.ok(goodRate(result, 0, 1) >= 185, `seed ${seed}: ${goodRate(result, 0, 1)}/s in the first second`)
      assert.ok(goodRate(result, 1) >= 190, `seed ${seed}: ${goodRate(result, 1)}/s after it`)
      assert.ok(quantile(result.latencies, 0.99) <= 200)
      assert.ok(quantile(result.shedLatencies, 1) <= 1000, 'everybody is answered within a second')
    })
  })

  test('the same at 100x follows the cost of a shed', () => {
    // (1 - k r / S) / (1 - r / S) with r = 8 us, S = 5 ms, k = 100: 84 % of 200/s.
    eachSeed({ rate: () => 20_000, steps: cpu5 }, 4, (result, seed) => {
      assert.ok(goodRate(result, 1) >= 160, `seed ${seed}: ${goodRate(result, 1)}/s`)
    })
  })

  test('a pool of ten, 10x', () => {
    eachSeed({ rate: () => 2000, steps: pool50 }, 20, (result, seed) => {
      assert.ok(goodRate(result, 1) >= 190, `seed ${seed}: ${goodRate(result, 1)}/s`)
    })
  })

  test('synchronous handlers of 20 ms, 10x', () => {
    eachSeed({ rate: () => 500, steps: () => [{ cpu: 20 }] }, 10, (result, seed) => {
      assert.ok(goodRate(result, 1) >= 47, `seed ${seed}: ${goodRate(result, 1)}/s`)
    })
  })

  test('ten minutes at 3x: neither goodput nor the limit drifts', () => {
    eachSeed({ rate: () => 600, steps: cpu5 }, 600, (result, seed) => {
      assert.ok(goodRate(result, 540) >= 190, `seed ${seed}: ${goodRate(result, 540)}/s in the last minute`)
    })
    eachSeed({ rate: () => 600, steps: pool50 }, 600, (result, seed) => {
      assert.ok(goodRate(result, 540) >= 190, `seed ${seed}: ${goodRate(result, 540)}/s in the last minute`)
    })
  })

  test('the database becomes three times slower and recovers: converged within 5 s both ways', () => {
    const steps = (_: unknown, now: number): Step[] => [
      { cpu: 0.1 },
      { pool: now > 10_000 && now < 20_000 ? 150 : 50 },
      { cpu: 0.1 },
    ]
    eachSeed({ rate: () => 600, steps }, 35, (result, seed) => {
      assert.ok(goodRate(result, 5, 10) >= 185, `seed ${seed}: before ${goodRate(result, 5, 10)}`)
      assert.ok(goodRate(result, 15, 20) >= 58, `seed ${seed}: while slow ${goodRate(result, 15, 20)} of 67`)
      assert.ok(goodRate(result, 25, 35) >= 185, `seed ${seed}: after ${goodRate(result, 25, 35)}`)
    })
  })

  test('clients that give up after a second and try three more times: stable, nothing left behind', () => {
    eachSeed({ rate: () => 600, steps: cpu5, patienceMs: 1000, retries: 3 }, 20, (result, seed) => {
      assert.ok(goodRate(result, 1) >= 185, `seed ${seed}: ${goodRate(result, 1)}/s`)
      assert.equal(result.inflightAtEnd, 0)
      assert.equal(result.queuedAtEnd, 0)
    })
  })

  test('half of the core is taken away for ten seconds: what is left is used', () => {
    const speed = (now: number): number => (now > 5000 && now < 15_000 ? 0.5 : 1)
    eachSeed({ rate: () => 160, steps: cpu5, core: () => sharedCore(speed) }, 25, (result, seed) => {
      assert.ok(goodRate(result, 6, 15) >= 85, `seed ${seed}: ${goodRate(result, 6, 15)} of 100 while halved`)
      assert.ok(goodRate(result, 17) >= 145, `seed ${seed}: ${goodRate(result, 17)} of 160 after`)
    })
  })
})

test('without admission the same service melts: the simulator can tell the difference', () => {
  const result = simulate({ rate: () => 600, steps: cpu5 }, { seconds: 20, law: undefined })
  assert.ok(goodRate(result, 5) < 20, `${goodRate(result, 5)}/s`)
})
