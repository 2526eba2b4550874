/**
 * Forty scenarios that nothing was tuned on. They show whether an adaptive limit generalises. They follow the style of
 * `scenarios.ts`, and their author had not looked at any limiter.
 *
 * `ideal` is what the scarce resource can do per second, minus the core's cost of sheds, and at most the load offered.
 * As in `scenarios.ts`, it gives no credit for work that a queue carries past the end of a spike or an outage, so a
 * share can slightly exceed 1 there. Where `kinds` differ, admission knows the kind of a request and serves the cheap
 * ones first. Otherwise it knows only the age of a request.
 *
 * Where no request may be shed (`noShed`), the share of sheds counts, not goodput. An answer after more than a second
 * is never good, so `ideal` is the part that can be in time. Where no answer can be, `ideal` is the load offered, as in
 * `scenarios.ts` (a share of 0, not of 0 / 0), and there is nothing to converge to (`changesAt: []`).
 */
import { noisyNeighbour, sharedCore } from './core.ts'
import { ample, between, coreDoes, overload, PARSE, SHED, sliced, steady } from './scenario-parts.ts'
import { cpu5, every, pool50, type Scenario } from './scenarios.ts'
import type { Step, Workload } from './workload.ts'

const poolOf = (ms: number | ((nowMs: number) => number)): Step[] => [{ cpu: 0.1 }, { pool: ms }, { cpu: 0.1 }]
const waits = (ms: number): Step[] => [{ cpu: 0.1 }, { wait: ms }, { cpu: 0.05 }]

/** Capacity of a core for 5 ms in five slices, per second. */
const CPU5 = 1000 / (5 + PARSE)

// The load of 5 ms requests in steps of 8 s, in cores.
const STEPS = [0.5, 4, 1.5, 12, 0.8]
const stepRate = (nowMs: number): number => 200 * STEPS[Math.min(STEPS.length - 1, Math.floor(nowMs / 8000))]!

const OUTAGES: readonly (readonly [from: number, to: number])[] = [
  [6, 7],
  [15, 19],
  [28, 43],
]
const outageAt = (s: number): readonly [number, number] | undefined => OUTAGES.find(([from, to]) => s >= from && s < to)

/** 30 ms, rising to 150 from 10 to 30 s, and 30 again from 40 s on. */
const slowing = (nowMs: number): number => (nowMs >= 40_000 ? 30 : between(nowMs, 10_000, 30_000, 30, 150))

const cheapOrHeavy = (cheapRate: number, heavyRate: number, cheap: () => Step[], heavy: () => Step[]): Workload => ({
  rate: steady(cheapRate + heavyRate),
  steps: heavy,
  kinds: [
    { share: cheapRate / (cheapRate + heavyRate), steps: cheap },
    { share: heavyRate / (cheapRate + heavyRate), steps: heavy },
  ],
})

/** Another process takes a third of the core in every other stretch of five seconds. */
const twoThirds = (nowMs: number): number => (Math.floor(nowMs / 5000) % 2 === 1 ? 2 / 3 : 1)

const OVERLOAD: readonly Scenario[] = [
  // The core is scarce.
  overload('unseen: 1 ms of cpu at 5x', {
    workload: { rate: steady(4800), steps: () => [{ cpu: 1 }] },
    seconds: 20,
    ideal: () => coreDoes(1 + PARSE, 4800),
  }),
  overload('unseen: 2 ms of cpu at 1.3x, garbage of 100 requests stops it 30 ms', {
    // Each request adds 0.3 ms of pause.
    workload: { rate: steady(557), steps: () => sliced(2, 2), gc: { everyRequests: 100, pauseMs: 30 } },
    seconds: 40,
    ideal: () => coreDoes(2.3 + PARSE, 557),
  }),
  overload('unseen: 8 ms of cpu in four slices at 40x', {
    workload: { rate: steady(4980), steps: () => sliced(8, 4) },
    seconds: 24,
    ideal: () => coreDoes(8 + PARSE, 4980),
  }),
  overload('unseen: cpu of exponential times around 15 ms at 2.5x, fresh connections', {
    workload: {
      rate: steady(166),
      steps: random => [{ cpu: random.exponential(15) }],
      fresh: { lanes: 16, acceptCostMs: 0.05 },
    },
    seconds: 45,
    ideal: () => coreDoes(15.05 + PARSE, 166, SHED + 0.05),
  }),
  overload('unseen: 40 ms synchronous at 4x', {
    workload: { rate: steady(100), steps: () => [{ cpu: 40 }] },
    seconds: 60,
    ideal: () => coreDoes(40 + PARSE, 100),
  }),
  overload('unseen: cpu at 0.5x, 4x, 1.5x, 12x and 0.8x, 8 s each', {
    workload: { rate: stepRate, steps: cpu5 },
    seconds: 40,
    ideal: s => coreDoes(5 + PARSE, stepRate(s * 1000 + 500)),
    changesAt: [8, 16, 24, 32],
  }),
  overload('unseen: a third of the core taken every other 5 s, 8 ms of cpu at 1.5x', {
    workload: { rate: steady(187), steps: () => sliced(8, 4), core: () => sharedCore(twoThirds) },
    seconds: 50,
    ideal: s => coreDoes(8 + PARSE, 187, SHED, 1000 * twoThirds(s * 1000 + 500)),
    changesAt: [],
  }),

  // A pool is scarce.
  overload('unseen: pool of 1 at 2x, exponential around 5 ms', {
    workload: { rate: steady(400), steps: random => poolOf(random.exponential(5)), poolSize: 1 },
    seconds: 40,
    ideal: () => 200,
  }),
  overload('unseen: pool of 1 at 5x, 400 ms', {
    workload: { rate: steady(12.5), steps: () => poolOf(400), poolSize: 1 },
    seconds: 60,
    ideal: () => 2.5,
    changesAt: [],
  }),
  overload('unseen: pool of 3 at 1.2x, 100 to 300 ms', {
    workload: { rate: steady(18), steps: random => poolOf(100 + 200 * random.next()), poolSize: 3 },
    seconds: 60,
    // Random arrivals leave hardly any connection idle: a request that waits 700 ms is still in time.
    ideal: () => 15,
    changesAt: [],
  }),
  overload('unseen: pool of 5 at 3x, 20 ms and one in four 380, a 300 ms stall every 4 s', {
    workload: {
      rate: steady(136),
      steps: random => poolOf(random.next() < 0.25 ? 380 : 20),
      poolSize: 5,
      stalls: every(4000, 300, 45),
    },
    seconds: 45,
    // 5 places of 110 ms on average. In a stall of 300 ms, a place works for 158 ms on its query and idles for 142 ms:
    // 86 % of the places hold a long query, with 0 to 380 ms left.
    ideal: () => (5000 / 110) * (1 - 142 / 4000),
  }),
  overload('unseen: pool of 20 at 10x, 800 ms', {
    workload: { rate: steady(250), steps: () => poolOf(800), poolSize: 20 },
    seconds: 60,
    ideal: () => 25,
    changesAt: [],
  }),
  overload('unseen: pool of 64 at 2x, 30 to 90 ms', {
    workload: { rate: steady(2133), steps: random => poolOf(30 + 60 * random.next()), poolSize: 64 },
    seconds: 30,
    ideal: () => 64_000 / 60,
  }),
  overload('unseen: pool of 64, 250 ms, a wave of 20 s between 0.4x and 3.6x', {
    workload: {
      rate: now => 256 * (2 - 1.6 * Math.cos((2 * Math.PI * now) / 20_000)),
      steps: () => poolOf(250),
      poolSize: 64,
    },
    seconds: 60,
    ideal: () => 256,
    changesAt: [],
  }),
  overload('unseen: pool of 20 at 0.6x, exponential around 80 ms, and 8x for a second every ten', {
    workload: {
      rate: now => (now % 10_000 >= 6000 && now % 10_000 < 7000 ? 2000 : 150),
      steps: random => poolOf(random.exponential(80)),
      poolSize: 20,
    },
    seconds: 40,
    ideal: () => 250,
    changesAt: [],
  }),
  overload('unseen: pool of 10, impatient clients of 250 ms, three tries, at 3x', {
    workload: { rate: steady(600), steps: pool50, patienceMs: 250, retries: 2 },
    seconds: 30,
    ideal: () => 200,
  }),

  // Core and pool.
  overload('unseen: 6 ms of cpu and 20 ms of a pool of 5, the core at 4x', {
    workload: { rate: steady(660), steps: () => [{ cpu: 3 }, { pool: 20 }, { cpu: 3 }], poolSize: 5 },
    seconds: 30,
    ideal: () => coreDoes(6 + PARSE, 660),
  }),
  overload('unseen: pool of 3 at 3x, 30 ms, while the core is busy for 80 %', {
    workload: { rate: steady(300), steps: () => [{ cpu: 4 }, { pool: 30 }, { cpu: 4 }], poolSize: 3 },
    seconds: 40,
    ideal: () => 100,
  }),

  // Two kinds, which the gate can tell apart.
  overload('unseen: 300/s of 0.5 ms beside 400/s of 20 ms of cpu', {
    workload: cheapOrHeavy(
      300,
      400,
      () => [{ cpu: 0.5 }],
      () => sliced(20, 4),
    ),
    seconds: 40,
    ideal: () => 300 + coreDoes(20 + PARSE, 400, SHED, 1000 - 300 * (0.5 + PARSE)),
  }),
  overload('unseen: 150/s of 10 ms beside 60/s of 200 ms, in one pool of 5', {
    workload: {
      ...cheapOrHeavy(
        150,
        60,
        () => poolOf(10),
        () => poolOf(200),
      ),
      poolSize: 5,
    },
    seconds: 50,
    // The cheap ones take 1.5 places, the heavy ones 3.5.
    ideal: () => 150 + 3.5 / 0.2,
  }),
  overload('unseen: 100/s of 4 ms of cpu beside 400/s for a pool of 5 that does 100/s', {
    workload: {
      ...cheapOrHeavy(
        100,
        400,
        () => sliced(4, 2),
        () => poolOf(50),
      ),
      poolSize: 5,
    },
    seconds: 40,
    ideal: () => 200,
  }),

  // Slow tails elsewhere: none of the slow requests can be in time.
  overload('unseen: pool of 5 at 2x, 40 ms, one in 20 waits 4 s elsewhere', {
    workload: {
      rate: steady(250 / 0.95),
      steps: random => (random.next() < 0.05 ? waits(4000) : poolOf(40)),
      poolSize: 5,
    },
    seconds: 40,
    ideal: () => 125,
    changesAt: [],
  }),
  overload('unseen: cpu at 3x, one in 50 waits 20 s elsewhere', {
    workload: { rate: steady((3 * CPU5) / 0.98), steps: random => (random.next() < 0.02 ? waits(20_000) : cpu5()) },
    seconds: 40,
    ideal: () => coreDoes(5 + PARSE, 3 * CPU5),
    changesAt: [],
  }),

  // Dependencies that change.
  overload('unseen: pool of 10 at 1.2x, 30 ms rising to 150 from 10 to 30 s, 30 again from 40 s', {
    workload: { rate: steady(400), steps: () => poolOf(slowing) },
    seconds: 55,
    ideal: s => 10_000 / slowing(s * 1000 + 500),
    changesAt: [0, 40],
  }),
  overload('unseen: pool of 20 at 0.7x, 20 ms, ten times slower from 12 to 20 s', {
    workload: {
      rate: steady(700),
      steps: () => poolOf(now => (now >= 12_000 && now < 20_000 ? 200 : 20)),
      poolSize: 20,
    },
    seconds: 35,
    ideal: s => (s >= 12 && s < 20 ? 100 : 1000),
    changesAt: [12, 20],
  }),
  overload('unseen: pool of 5 at 2x, 40 ms, outages of 1, 4 and 15 s', {
    workload: {
      rate: steady(250),
      steps: () =>
        poolOf(now => {
          const outage = outageAt(now / 1000)
          return outage === undefined ? 40 : outage[1] * 1000 + 40 - now
        }),
      poolSize: 5,
    },
    seconds: 60,
    ideal: s => (outageAt(s) === undefined ? 125 : 0),
    changesAt: [7, 19, 43],
  }),
]

const AMPLE: readonly Scenario[] = [
  ample('unseen: 2 ms of cpu at 95 %', {
    workload: { rate: steady((0.95 * 1000) / (2 + PARSE)), steps: () => sliced(2, 2) },
    seconds: 60,
  }),
  ample('unseen: 8 ms of cpu at 75 %, a stall of 500 ms every 15 s', {
    workload: { rate: steady((0.75 * 1000) / (8 + PARSE)), steps: () => sliced(8, 4), stalls: every(15_000, 500, 60) },
    seconds: 60,
  }),
  ample('unseen: 40 ms synchronous at 70 %', {
    workload: { rate: steady(17.5), steps: () => [{ cpu: 40 }] },
    seconds: 60,
  }),
  ample('unseen: 1 ms of cpu at 75 %, fresh connections', {
    workload: { rate: steady(690), steps: () => [{ cpu: 1 }], fresh: { lanes: 16, acceptCostMs: 0.05 } },
    seconds: 40,
  }),
  ample('unseen: cpu beside a noisy neighbour, garbage, at 76 % of what is left', {
    // The neighbour leaves 60 to 100 % of the core, another share every 300 ms, so 5 ms take 6.4 on average. 20 ms of
    // garbage collection for every 60 requests add 0.43.
    workload: {
      rate: steady(111),
      steps: cpu5,
      gc: { everyRequests: 60, pauseMs: 20 },
      core: random => noisyNeighbour(random, 0.6, 300),
    },
    seconds: 60,
  }),
  ample('unseen: 300/s of 0.5 ms beside 30/s of 20 ms of cpu', {
    workload: cheapOrHeavy(
      300,
      30,
      () => [{ cpu: 0.5 }],
      () => sliced(20, 4),
    ),
    seconds: 60,
  }),
  ample('unseen: pool of 20 at 85 %, exponential around 80 ms', {
    workload: { rate: steady(212), steps: random => poolOf(random.exponential(80)), poolSize: 20 },
    seconds: 60,
  }),
  ample('unseen: pool of 64 at 92 %, 30 to 90 ms', {
    workload: { rate: steady(981), steps: random => poolOf(30 + 60 * random.next()), poolSize: 64 },
    seconds: 40,
  }),
  ample('unseen: pool of 5 at 60 %, 20 ms and one in four 380', {
    workload: { rate: steady(27), steps: random => poolOf(random.next() < 0.25 ? 380 : 20), poolSize: 5 },
    seconds: 60,
  }),

  // Nothing is scarce.
  ample('unseen: cold start at 2000/s, 20 ms of waiting, one in 50 three seconds', {
    workload: { rate: steady(2000), steps: random => waits(random.next() < 0.02 ? 3000 : 20) },
    seconds: 25,
    ideal: () => 2000 * 0.98,
  }),
  ample('unseen: 250/s that wait exponential times around 800 ms', {
    workload: { rate: steady(250), steps: random => waits(random.exponential(800)) },
    seconds: 40,
    ideal: () => 250 * (1 - Math.exp(-1000 / 800)),
    changesAt: [],
  }),
  ample('unseen: from 5/s to 50/s within 40 s, all of 8 s', {
    // No answer can be in time.
    workload: { rate: now => between(now, 0, 40_000, 5, 50), steps: () => waits(8000) },
    seconds: 60,
    changesAt: [],
  }),
  ample('unseen: 150/s that wait 120 ms, and 1500/s for a second every ten', {
    workload: {
      rate: now => (now % 10_000 >= 4000 && now % 10_000 < 5000 ? 1500 : 150),
      steps: () => waits(120),
    },
    seconds: 40,
  }),
  ample('unseen: 200/s that wait 100 ms, 700 in the end, with room for everybody', {
    workload: { rate: steady(200), steps: (_, now) => waits(between(now, 10_000, 30_000, 100, 700)) },
    seconds: 45,
  }),
]

export const UNSEEN: readonly Scenario[] = [...OVERLOAD, ...AMPLE]
