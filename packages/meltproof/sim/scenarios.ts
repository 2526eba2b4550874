/**
 * The failure modes of admission control. Each is a workload with the results of a perfect admission. Tests assert
 * thresholds on them, and the benchmark compares limiters on them.
 */
import { cpuQuota, noisyNeighbour, sharedCore } from './core.ts'
import type { Step, Taken, Workload } from './workload.ts'

export interface Scenario {
  readonly name: string
  readonly workload: Workload
  readonly seconds: number
  /** Answers per second of a perfect admission in second `s`, at most those offered. */
  readonly ideal: (s: number) => number
  /** When the load or the capacity changes, s. Convergence is the time until goodput is near the ideal again. */
  readonly changesAt: readonly number[]
  /** Capacity always suffices, so every shed is a mistake. */
  readonly noShed: boolean
}

/** 5 ms of CPU over five slices: capacity just below 200/s. */
export const cpu5 = (): Step[] => [
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
export const pool50 = (): Step[] => [{ cpu: 0.1 }, { pool: 50 }, { cpu: 0.1 }]
export const poolOf = (ms: number | ((nowMs: number) => number | Taken)): Step[] => [
  { cpu: 0.1 },
  { pool: ms },
  { cpu: 0.1 },
]
export const waits = (ms: number): Step[] => [{ cpu: 0.2 }, { wait: ms }, { cpu: 0.1 }]

/** Capacities for cpu5 and pool50, requests per second. They include the CPU of parsing. */
export const CPU5 = 1000 / 5.0356
const POOL50 = 200

export const every = (periodMs: number, forMs: number, seconds: number): [number, number][] =>
  Array.from({ length: Math.floor((seconds * 1000) / periodMs) }, (_, i) => [(i + 0.5) * periodMs, forMs])

interface Draft extends Omit<Scenario, 'workload' | 'name' | 'ideal' | 'changesAt' | 'noShed'> {
  readonly workload: Workload
  readonly ideal?: (s: number) => number
  readonly changesAt?: readonly number[]
}

export const draft = (name: string, rest: Draft): Scenario => ({
  name,
  changesAt: [0],
  noShed: rest.ideal === undefined,
  ...rest,
  ideal: s => Math.min(rest.workload.rate(s * 1000 + 500), rest.ideal?.(s) ?? Number.POSITIVE_INFINITY),
})
/** An outage of the database. Afterwards everything is as before. */
export const answersNobody = (rate: number, from: number, to: number): Scenario =>
  draft(`the database answers no request from ${from} to ${to} s, at ${rate}/s`, {
    workload: {
      rate: () => rate,
      steps: () => poolOf(now => (now >= from * 1000 && now < to * 1000 ? to * 1000 + 50 - now : 50)),
    },
    seconds: to + 20,
    ideal: s => (s >= from && s < to ? 0 : POOL50),
    changesAt: [to],
  })
/** Goodput at `rate`, when each shed costs `shedMs` of the core. */
export const withSheds = (capacity: number, rate: number, shedMs = 0.008): number =>
  (capacity * (1 - (rate / capacity) * shedMs * (capacity / 1000))) / (1 - shedMs * (capacity / 1000))

const loads = [1.1, 1.25, 1.5, 2, 3, 10]

export const SCENARIOS: readonly Scenario[] = [
  // No request may be shed.
  draft('cpu at 70 %', { workload: { rate: () => 140, steps: cpu5 }, seconds: 60 }),
  draft('cpu at 60 %, a 100 ms pause every second', {
    workload: { rate: () => 120, steps: cpu5, stalls: every(1000, 100, 60) },
    seconds: 60,
  }),
  draft('cpu at 70 %, a 200 ms stall every 5 s', {
    workload: { rate: () => 140, steps: cpu5, stalls: every(5000, 200, 60) },
    seconds: 60,
  }),
  draft('cpu at 60 %, one stall of a second', {
    workload: { rate: () => 120, steps: cpu5, stalls: [[5000, 1000]] },
    seconds: 30,
  }),
  draft('cpu at 60 %, garbage of 50 requests stops it 40 ms', {
    workload: { rate: () => 105, steps: cpu5, gc: { everyRequests: 50, pauseMs: 40 } },
    seconds: 60,
  }),
  draft('20 ms synchronous at 60 %', { workload: { rate: () => 30, steps: () => [{ cpu: 20 }] }, seconds: 60 }),
  draft('pool at 80 %', { workload: { rate: () => 160, steps: pool50 }, seconds: 60 }),
  draft('1 request/s', { workload: { rate: () => 1, steps: pool50 }, seconds: 120 }),
  draft('cold start at 1000/s, 100 ms of waiting', {
    workload: { rate: () => 1000, steps: () => waits(100) },
    seconds: 10,
  }),
  draft('the mix shifts from 5 to 200 ms of waiting', {
    workload: { rate: () => 400, steps: (_, now) => [{ cpu: 0.2 }, { wait: now < 10_000 ? 5 : 200 }] },
    seconds: 30,
    changesAt: [10],
  }),
  draft('the mix shifts at constant utilisation of the core', {
    // 60 % before and after: fast requests burn 2 ms and wait 5, slow ones burn 6 and wait 150.
    workload: {
      rate: now => (now < 10_000 ? 300 : 100),
      steps: (_, now) => (now < 10_000 ? [{ cpu: 2 }, { wait: 5 }] : [{ cpu: 3 }, { wait: 150 }, { cpu: 3 }]),
    },
    seconds: 30,
    changesAt: [10],
  }),
  draft('one request in ten takes 10 s', {
    workload: { rate: () => 300, steps: random => [{ cpu: 0.1 }, { wait: random.next() < 0.1 ? 10_000 : 100 }] },
    seconds: 40,
    ideal: () => 270,
  }),
  // The slow ones wait for something unlimited, the quick ones for the core. Permits should go to the quick ones.
  ...[0.7, 1, 2, 10].map(load =>
    draft(`the core at ${load}x, and one request in ten waits 10 s`, {
      workload: {
        rate: () => (load * CPU5) / 0.9,
        steps: random => (random.next() < 0.1 ? [{ cpu: 0.1 }, { wait: 10_000 }] : cpu5()),
      },
      seconds: 40,
      ideal: () => Math.min(load * CPU5, withSheds(CPU5, load * CPU5)),
      changesAt: [],
    }),
  ),
  draft('pool at 3x, one in ten waits 10 s elsewhere', {
    workload: {
      rate: () => (3 * POOL50) / 0.9,
      steps: random => (random.next() < 0.1 ? waits(10_000) : pool50()),
    },
    seconds: 40,
    ideal: () => POOL50,
    changesAt: [],
  }),
  draft('20/s that wait 5 s beside 200/s that wait 10 ms', {
    workload: {
      rate: () => 220,
      steps: random => waits(random.next() < 1 / 11 ? random.exponential(5000) : 10),
    },
    seconds: 40,
    ideal: () => 220,
    changesAt: [],
  }),
  // Slow requests that do not delay each other. More of them than the initial limit are in service before the first
  // leaves.
  draft('5/s that wait 30 s', { workload: { rate: () => 5, steps: () => waits(30_000) }, seconds: 60, changesAt: [] }),
  draft('20/s that wait 3 s', { workload: { rate: () => 20, steps: () => waits(3000) }, seconds: 60, changesAt: [] }),
  draft('30/s that wait 5 s', { workload: { rate: () => 30, steps: () => waits(5000) }, seconds: 30, changesAt: [] }),
  draft('one in five of 50/s waits 10 s', {
    workload: { rate: () => 50, steps: random => waits(random.next() < 0.2 ? 10_000 : 5) },
    seconds: 60,
    changesAt: [],
  }),
  draft('10/s that wait 30 s beside 20/s of 20 ms', {
    workload: { rate: () => 30, steps: random => waits(random.next() < 1 / 3 ? 30_000 : 20) },
    seconds: 60,
    changesAt: [],
  }),
  draft('from 20/s to 40/s, all of 3 s', {
    workload: { rate: now => (now < 20_000 ? 20 : 40), steps: () => waits(3000) },
    seconds: 60,
    changesAt: [],
  }),
  // Nothing is scarce, but only the throughput at different limits shows it.
  draft('cold start at 600/s, 50 and 400 ms of waiting', {
    workload: { rate: () => 600, steps: random => waits(random.next() < 0.5 ? 50 : 400) },
    seconds: 30,
    ideal: () => 600,
    changesAt: [],
  }),
  // Nothing is compiled yet: the first requests take seven times the CPU, and the core looks scarce.
  draft('a group commit, met cold at 3000/s', {
    workload: {
      rate: () => 3000,
      steps: (_, now) => [{ cpu: 0.08 * (1 + 6 * Math.exp(-now / 1000)) }, 'write'],
      group: { writeMs: 10, eachMs: 0.1 },
    },
    seconds: 15,
    ideal: () => 3000,
  }),
  draft('bimodal, 1 and 200 ms of waiting', {
    workload: { rate: () => 600, steps: random => waits(random.next() < 0.5 ? 1 : 200) },
    seconds: 30,
  }),
  draft('timers of 20 ms', {
    workload: { rate: () => 150, steps: () => [{ cpu: 1 }, { timer: 20 }, { cpu: 1 }] },
    seconds: 30,
  }),
  draft('fresh connections at 60 %', {
    workload: { rate: () => 115, steps: cpu5, fresh: { lanes: 32, acceptCostMs: 0.1 } },
    seconds: 30,
  }),

  // Overload: goodput counts.
  ...loads.map(k =>
    draft(`cpu at ${k}x`, {
      workload: { rate: () => k * 200, steps: cpu5 },
      seconds: 30,
      ideal: () => withSheds(CPU5, k * 200),
    }),
  ),
  draft('cpu at 100x', {
    workload: { rate: () => 20_000, steps: cpu5 },
    seconds: 6,
    ideal: () => withSheds(CPU5, 20_000),
  }),
  ...loads.map(k =>
    draft(`pool at ${k}x`, { workload: { rate: () => k * 200, steps: pool50 }, seconds: 30, ideal: () => POOL50 }),
  ),
  draft('pool at 3x, a 100 ms pause every second', {
    workload: { rate: () => 600, steps: pool50, stalls: every(1000, 100, 30) },
    seconds: 30,
    ideal: () => POOL50 * 0.9,
  }),
  // The capacity is far below the initial limit.
  ...[1.5, 3, 10].map(k =>
    draft(`pool of three at ${k}x`, {
      workload: { rate: () => k * 60, steps: pool50, poolSize: 3 },
      seconds: 30,
      ideal: () => 60,
    }),
  ),
  draft('pool of 40 at 3x', {
    workload: { rate: () => 2400, steps: pool50, poolSize: 40 },
    seconds: 30,
    ideal: () => 800,
  }),
  draft('pool of exponential times at 3x', {
    workload: { rate: () => 600, steps: random => poolOf(random.exponential(50)) },
    seconds: 30,
    ideal: () => POOL50,
  }),
  draft('pool of 1 and 200 ms at 3x', {
    workload: { rate: () => 300, steps: random => poolOf(random.next() < 0.5 ? 1 : 200) },
    seconds: 30,
    ideal: () => 10_000 / 100.5,
  }),
  // Slow, and behind few connections: a request that waits for two others is late.
  ...(
    [
      [2, 120],
      [4, 300],
      [10, 300],
      [40, 500],
    ] as const
  ).flatMap(([poolSize, ms]) =>
    [1.2, 3, 10].map(k =>
      draft(`pool of ${poolSize} at ${k}x, around ${ms} ms`, {
        workload: {
          rate: () => (k * poolSize * 1000) / ms,
          steps: random => poolOf(ms * (0.5 + random.next())),
          poolSize,
        },
        seconds: 60,
        ideal: () => (poolSize * 1000) / ms,
        changesAt: [],
      }),
    ),
  ),
  draft('a group commit at 2x', {
    workload: { rate: () => 4000, steps: () => [{ cpu: 0.05 }, 'write'], group: { writeMs: 10, eachMs: 0.5 } },
    seconds: 15,
    ideal: () => 2000,
    changesAt: [],
  }),
  draft('20 ms synchronous at 10x', {
    workload: { rate: () => 500, steps: () => [{ cpu: 20 }] },
    seconds: 15,
    ideal: () => withSheds(1000 / 20.04, 500),
  }),
  draft('cpu and pool mixed at 3x', {
    workload: { rate: () => 600, steps: () => [{ cpu: 2 }, { pool: 50 }, { cpu: 2 }] },
    seconds: 30,
    ideal: () => withSheds(200, 600),
  }),
  draft('cpu at 3x for ten minutes', {
    workload: { rate: () => 600, steps: cpu5 },
    seconds: 600,
    ideal: () => withSheds(CPU5, 600),
  }),
  draft('pool at 3x for ten minutes', {
    workload: { rate: () => 600, steps: pool50 },
    seconds: 600,
    ideal: () => POOL50,
  }),
  draft('the database three times slower from 10 to 20 s', {
    workload: { rate: () => 600, steps: (_, now) => poolOf(now >= 10_000 && now < 20_000 ? 150 : 50) },
    seconds: 35,
    ideal: s => (s >= 10 && s < 20 ? POOL50 / 3 : POOL50),
    changesAt: [10, 20],
  }),
  draft('the database three times slower, met at 80 %', {
    workload: { rate: () => 160, steps: (_, now) => poolOf(now >= 10_000 && now < 20_000 ? 150 : 50) },
    seconds: 35,
    ideal: s => (s >= 10 && s < 20 ? POOL50 / 3 : POOL50),
    changesAt: [10, 20],
  }),
  draft('the core at 3x, then 5/s that wait 30 s beside 50/s', {
    workload: {
      rate: now => (now < 10_000 ? 600 : 55),
      steps: (random, now) => (now < 10_000 ? cpu5() : waits(random.next() < 1 / 11 ? 30_000 : 5)),
    },
    seconds: 50,
    ideal: s => (s < 10 ? withSheds(CPU5, 600) : 50),
    changesAt: [10],
  }),
  ...[160, 600].flatMap(rate => [answersNobody(rate, 10, 12), answersNobody(rate, 10, 20)]),
  answersNobody(600, 0, 5),
  draft('half of the core taken from 5 to 15 s', {
    workload: { rate: () => 160, steps: cpu5, core: () => sharedCore(now => (now >= 5000 && now < 15_000 ? 0.5 : 1)) },
    seconds: 25,
    ideal: s => (s >= 5 && s < 15 ? CPU5 / 2 : CPU5),
    changesAt: [5, 15],
  }),
  draft('quota of 40 ms in 100 from 5 to 15 s', {
    workload: { rate: () => 160, steps: cpu5, core: () => cpuQuota(40, 100, 5000, 15_000) },
    seconds: 25,
    ideal: s => (s >= 5 && s < 15 ? CPU5 * 0.4 : CPU5),
    changesAt: [5, 15],
  }),
  draft('noisy neighbour at 60 %', {
    // The neighbour leaves half to all of the core, another share every 200 ms. Requests that are served see 69 % of
    // the core on average.
    workload: { rate: () => 90, steps: cpu5, core: random => noisyNeighbour(random, 0.5, 200) },
    seconds: 60,
  }),
  draft('noisy neighbour at 3x', {
    workload: { rate: () => 600, steps: cpu5, core: random => noisyNeighbour(random, 0.5, 200) },
    seconds: 60,
    ideal: () => withSheds(CPU5 * 0.75, 600),
  }),
  draft('clients give up after 1 s and try three more times', {
    workload: { rate: () => 600, steps: cpu5, patienceMs: 1000, retries: 3 },
    seconds: 30,
    ideal: () => withSheds(CPU5, 2400),
  }),
  draft('impatient clients of a pool, 200 ms, three more times', {
    workload: { rate: () => 600, steps: pool50, patienceMs: 200, retries: 3 },
    seconds: 30,
    ideal: () => POOL50,
  }),
  draft('fresh connections at 10x, 32 listeners', {
    workload: { rate: () => 2000, steps: cpu5, fresh: { lanes: 32, acceptCostMs: 0.02 } },
    seconds: 15,
    ideal: () => withSheds(1000 / 5.06, 2000, 0.028),
  }),
]

export const scenario = (name: string): Scenario => {
  const found = SCENARIOS.find(each => each.name === name)
  if (found === undefined) throw new Error(`no scenario is called ${name}`)
  return found
}
