/** Scenarios that nothing was tuned on. They were written before any result was seen, and are reported separately. */
import { cpuQuota, noisyNeighbour, sharedCore } from './core.ts'
import { cold, heavy } from './development.ts'
import { CPU5, cpu5, draft, every, pool50, poolOf, type Scenario, waits, withSheds } from './scenarios.ts'
import type { Step } from './workload.ts'

/** 3 ms of CPU in three steps. */
const cpu3 = (): Step[] => [{ cpu: 1 }, 'yield', { cpu: 1 }, 'yield', { cpu: 1 }]
const CPU3 = 1000 / 3.0356

export const HELD_OUT: readonly Scenario[] = [
  // Handlers that only wait.
  draft('a gateway: 60/s of 12 s', {
    workload: { rate: () => 60, steps: () => waits(12_000) },
    seconds: 60,
    changesAt: [],
  }),
  draft('180/s of 4 to 8 s, cold', {
    workload: { rate: () => 180, steps: random => waits(4000 + 4000 * random.next()) },
    seconds: 30,
    changesAt: [],
  }),
  draft('10/s of 30 s for three minutes', {
    workload: { rate: () => 10, steps: () => waits(30_000) },
    seconds: 180,
    changesAt: [],
  }),
  draft('a gateway from 25/s to 250/s, all of 6 s', {
    workload: { rate: now => (now < 20_000 ? 25 : 250), steps: () => waits(6000) },
    seconds: 45,
    changesAt: [],
  }),
  draft('150 long polls within a second, beside 80/s of reads', {
    workload: {
      rate: now => (now >= 10_000 && now < 11_000 ? 230 : 80),
      kinds: [
        { share: now => (now >= 10_000 && now < 11_000 ? 80 / 230 : 1), steps: () => waits(12) },
        { share: now => (now >= 10_000 && now < 11_000 ? 150 / 230 : 0), steps: () => waits(30_000) },
      ],
      steps: () => [],
    },
    seconds: 50,
    changesAt: [],
  }),
  draft('100/s of 2 s, exponential, cold', {
    workload: { rate: () => 100, steps: random => waits(random.exponential(2000)) },
    seconds: 30,
    changesAt: [],
  }),
  draft('a gateway of 30/s and a health page of 10/s, cold', {
    workload: {
      rate: () => 40,
      kinds: [
        { share: 0.75, steps: random => waits(5000 + 15_000 * random.next()) },
        { share: 0.25, steps: () => [{ cpu: 0.2 }] },
      ],
      steps: () => [],
    },
    seconds: 60,
    changesAt: [],
  }),
  draft('polls that end at once when news come, every 10 s', {
    workload: { rate: () => 50, steps: (_, now) => waits(10_000 - (now % 10_000)) },
    seconds: 45,
    changesAt: [],
  }),
  // Cold starts near the capacity.
  draft('cold at 0.9x, 3 ms in three steps, garbage', {
    workload: {
      rate: () => 0.9 * 0.93 * CPU3,
      steps: (_, now) => cold(cpu3(), now, 4, 120),
      gc: { everyRequests: 150, pauseMs: 30 },
    },
    seconds: 12,
    changesAt: [],
  }),
  draft('cold at 0.9x, a neighbour takes slices', {
    workload: {
      rate: () => 0.9 * 0.87 * CPU5,
      steps: (_, now) => cold(cpu5(), now, 3, 150),
      core: random => noisyNeighbour(random, 0.75, 50),
    },
    seconds: 12,
    changesAt: [],
  }),
  draft('cold at 1x of a core', {
    workload: { rate: () => CPU3, steps: (_, now) => cold(cpu3(), now, 3, 150) },
    seconds: 12,
    ideal: () => CPU3,
    changesAt: [],
  }),
  draft('a warm core at 1x', { workload: { rate: () => CPU5, steps: cpu5 }, seconds: 30, ideal: () => CPU5 }),
  draft('cold at 0.9x, cheap and heavy', {
    workload: {
      rate: () => 340,
      kinds: [
        { share: 40 / 340, steps: (_, now) => cold(heavy(), now, 3, 120) },
        { share: 300 / 340, steps: (_, now) => cold([{ cpu: 0.3 }], now, 3, 120) },
      ],
      steps: () => [],
    },
    seconds: 12,
    changesAt: [],
  }),
  draft('30 ms synchronous at 0.9x, cold', {
    workload: { rate: () => 30, steps: (_, now) => cold([{ cpu: 30 }], now, 2, 200) },
    seconds: 12,
    changesAt: [],
  }),
  draft('pool of 12, 80 ms, at 0.9x', {
    workload: { rate: () => 135, steps: () => poolOf(80), poolSize: 12 },
    seconds: 30,
  }),
  // Overload.
  ...[1.3, 6].map(k =>
    draft(`pool of 6, around 80 ms, at ${k}x`, {
      workload: { rate: () => k * 75, steps: random => poolOf(40 + 80 * random.next()), poolSize: 6 },
      seconds: 30,
      ideal: () => 75,
    }),
  ),
  draft('pool of 25, around 200 ms, at 4x', {
    workload: { rate: () => 500, steps: random => poolOf(100 + 200 * random.next()), poolSize: 25 },
    seconds: 40,
    ideal: () => 125,
    changesAt: [],
  }),
  draft('pool of 5, exponential, 400 ms, at 5x', {
    workload: { rate: () => 62, steps: random => poolOf(random.exponential(400)), poolSize: 5 },
    seconds: 60,
    // A tenth of the queries take longer than a second even in an idle pool.
    ideal: () => 12.5 * 0.9,
    changesAt: [],
  }),
  draft('20 ms of CPU in four steps at 5x, cold', {
    workload: { rate: () => 250, steps: (_, now) => cold(heavy(), now, 3, 200) },
    seconds: 20,
    ideal: () => withSheds(1000 / 20.04, 250),
  }),
  draft('2 ms of CPU and a pool of eight of 60 ms at 4x', {
    workload: { rate: () => 533, steps: () => [{ cpu: 1 }, { pool: 60 }, { cpu: 1 }], poolSize: 8 },
    seconds: 30,
    ideal: () => 133,
  }),
  draft('a core at 5x, each waits 150 ms besides', {
    workload: { rate: () => 1000, steps: () => [{ cpu: 2 }, { wait: 150 }, { cpu: 3 }] },
    seconds: 30,
    ideal: () => withSheds(CPU5, 1000),
  }),
  draft('a core at 3x beside 15/s that wait 20 s', {
    workload: {
      rate: () => 615,
      kinds: [
        { share: 600 / 615, steps: cpu5 },
        { share: 15 / 615, steps: () => waits(20_000) },
      ],
      steps: () => [],
    },
    seconds: 40,
    ideal: () => withSheds(CPU5, 600),
    changesAt: [],
  }),
  draft('a pool at 4x beside 15/s that wait 20 s', {
    workload: {
      rate: () => 815,
      kinds: [
        { share: 800 / 815, steps: pool50 },
        { share: 15 / 815, steps: () => waits(20_000) },
      ],
      steps: () => [],
    },
    seconds: 40,
    ideal: () => 200,
    changesAt: [],
  }),
  // Changes.
  draft('the pool at 0.75x has an outage from 12 to 17 s', {
    workload: {
      rate: () => 150,
      steps: () => poolOf(now => (now >= 12_000 && now < 17_000 ? 17_060 - now : 50)),
    },
    seconds: 40,
    ideal: s => (s >= 12 && s < 17 ? 0 : 200),
    changesAt: [17],
  }),
  draft('the pool at 2x has an outage from 15 to 18 s', {
    workload: {
      rate: () => 400,
      steps: () => poolOf(now => (now >= 15_000 && now < 18_000 ? 18_060 - now : 50)),
    },
    seconds: 40,
    ideal: s => (s >= 15 && s < 18 ? 0 : 200),
    changesAt: [18],
  }),
  draft('what takes 10 ms takes 300 from 10 s on, and nothing is scarce', {
    workload: { rate: () => 250, steps: (_, now) => waits(now < 10_000 ? 10 : 300) },
    seconds: 30,
    changesAt: [10],
  }),
  draft('a pool of ten loses half of its connections at 10 s', {
    workload: { rate: () => 300, steps: (_, now) => poolOf(now < 10_000 ? 50 : 100) },
    seconds: 30,
    ideal: s => (s < 10 ? 200 : 100),
    changesAt: [10],
  }),
  draft('a third of the core taken from 8 to 16 s, at 0.8x', {
    workload: { rate: () => 160, steps: cpu5, core: () => sharedCore(now => (now >= 8000 && now < 16_000 ? 0.67 : 1)) },
    seconds: 30,
    ideal: s => (s >= 8 && s < 16 ? CPU5 * 0.67 : CPU5),
    changesAt: [8, 16],
  }),
  draft('a quota of 60 ms in 100, at 3x, with stalls', {
    workload: {
      rate: () => 600,
      steps: cpu5,
      core: () => cpuQuota(60, 100, 0, 30_000),
      stalls: every(4000, 80, 30),
    },
    seconds: 30,
    ideal: () => withSheds(CPU5 * 0.6 * 0.97, 600, 0.013),
    changesAt: [],
  }),
]
