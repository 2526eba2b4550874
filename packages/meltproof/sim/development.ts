/**
 * Scenarios, in addition to scenarios.ts, that the limiter was developed on: servers that idle while handlers wait, and
 * cold starts.
 */
import { noisyNeighbour } from './core.ts'
import { answersNobody, CPU5, cpu5, draft, every, pool50, poolOf, type Scenario, waits } from './scenarios.ts'
import type { Step } from './workload.ts'

/** Code that is not compiled yet costs `times` as much at first. The excess decays exponentially over `withinMs`. */
export const cold = (steps: readonly Step[], nowMs: number, times: number, withinMs: number): Step[] => {
  const cost = 1 + (times - 1) * Math.exp(-nowMs / withinMs)
  return steps.map(step => (typeof step === 'object' && 'cpu' in step ? { cpu: step.cpu * cost } : step))
}

/** 20 ms of CPU in four steps. */
export const heavy = (): Step[] => ['yield', { cpu: 5 }, 'yield', { cpu: 5 }, 'yield', { cpu: 5 }, 'yield', { cpu: 5 }]

const coldCpu = (load: number, seconds: number, beside: object = {}): Scenario =>
  draft(`a cold start at ${load}x of a core${Object.keys(beside).map(name => `, ${name}`)}`, {
    workload: { rate: () => load * CPU5, steps: (_, now) => cold(cpu5(), now, 4, 80), ...beside },
    seconds,
    changesAt: [],
    ...(load < 1 ? {} : { ideal: () => CPU5 }),
  })

export const DEVELOPMENT: readonly Scenario[] = [
  // Servers that idle.
  draft('a model gateway: 40/s of 15 s', {
    workload: { rate: () => 40, steps: () => waits(15_000) },
    seconds: 60,
    changesAt: [],
  }),
  draft('200/s of 5 s, cold', { workload: { rate: () => 200, steps: () => waits(5000) }, seconds: 30, changesAt: [] }),
  draft('15/s of 20 s for four minutes', {
    workload: { rate: () => 15, steps: () => waits(20_000) },
    seconds: 240,
    changesAt: [],
  }),
  draft('40/s of 15 s, exponential', {
    workload: { rate: () => 40, steps: random => waits(random.exponential(15_000)) },
    seconds: 60,
    changesAt: [],
  }),
  draft('200 long polls within 2 s, and plain reads beside', {
    workload: {
      rate: now => (now >= 5000 && now < 7000 ? 150 : 50),
      kinds: [
        { share: now => (now >= 5000 && now < 7000 ? 1 / 3 : 1), steps: () => waits(8) },
        { share: now => (now >= 5000 && now < 7000 ? 2 / 3 : 0), steps: () => waits(25_000) },
      ],
      steps: () => [],
    },
    seconds: 30,
    changesAt: [],
  }),
  draft('100 polls of 25 s within 1 s, cold', {
    workload: { rate: now => (now < 1000 ? 100 : 0), steps: () => waits(25_000) },
    seconds: 30,
    changesAt: [],
  }),
  draft('a gateway of 40/s that wait 15 s, and 5/s of /health', {
    workload: {
      rate: () => 45,
      kinds: [
        { share: 40 / 45, steps: () => waits(15_000) },
        { share: 5 / 45, steps: () => [{ cpu: 0.1 }] },
      ],
      steps: () => [],
    },
    seconds: 60,
    changesAt: [],
  }),
  draft('a gateway from 20/s to 200/s, all of 8 s', {
    workload: { rate: now => (now < 30_000 ? 20 : 200), steps: () => waits(8000) },
    seconds: 60,
    changesAt: [],
  }),
  draft('from 40/s to 400/s, 600 ms each', {
    workload: { rate: now => (now < 20_000 ? 40 : 400), steps: () => waits(600) },
    seconds: 40,
    changesAt: [],
  }),
  draft('a gateway of 20/s that wait 10 s beside a pool at 3x', {
    workload: {
      rate: () => 620,
      kinds: [
        { share: 600 / 620, steps: pool50 },
        { share: 20 / 620, steps: () => waits(10_000) },
      ],
      steps: () => [],
    },
    seconds: 40,
    ideal: () => 200,
    changesAt: [],
  }),
  draft('a gateway of 20/s that wait 10 s beside a core at 3x', {
    workload: {
      rate: () => 620,
      kinds: [
        { share: 600 / 620, steps: cpu5 },
        { share: 20 / 620, steps: () => waits(10_000) },
      ],
      steps: () => [],
    },
    seconds: 40,
    ideal: () => 190,
    changesAt: [],
  }),
  draft('pool at 3x, after a gateway of 40/s that waits 10 s was there', {
    workload: {
      rate: now => (now < 20_000 ? 40 : 600),
      kinds: [
        { share: now => (now < 20_000 ? 1 : 0), steps: () => waits(10_000) },
        { share: now => (now < 20_000 ? 0 : 1), steps: pool50 },
      ],
      steps: () => [],
    },
    seconds: 40,
    ideal: s => (s < 20 ? 0.01 : 200),
    changesAt: [20],
  }),
  // Cold starts.
  coldCpu(0.9, 12),
  coldCpu(0.9, 12, { gc: { everyRequests: 100, pauseMs: 15 } }),
  coldCpu(0.8, 12, { core: (random: never) => noisyNeighbour(random, 0.7, 100) }),
  coldCpu(1, 12),
  coldCpu(1, 30, { stalls: every(3000, 60, 30) }),
  draft('cheap and heavy mixed at 0.9x, cold', {
    workload: {
      rate: () => 243,
      kinds: [
        { share: 43 / 243, steps: (_, now) => cold(heavy(), now, 3, 80) },
        { share: 200 / 243, steps: (_, now) => cold([{ cpu: 0.2 }], now, 3, 80) },
      ],
      steps: () => [],
    },
    seconds: 12,
    changesAt: [],
  }),
  draft('cheap and heavy mixed at 0.9x, in one kind', {
    workload: {
      rate: () => 243,
      steps: (random, now) => cold(random.next() < 43 / 243 ? heavy() : [{ cpu: 0.2 }], now, 3, 80),
    },
    seconds: 12,
    changesAt: [],
  }),
  draft('a pool of 50/s, cheap and heavy, cold at 5x', {
    workload: {
      rate: () => 450,
      kinds: [
        { share: 250 / 450, steps: () => poolOf(200) },
        { share: 200 / 450, steps: () => [{ cpu: 0.2 }] },
      ],
      steps: () => [],
    },
    seconds: 30,
    ideal: () => 250,
    changesAt: [],
  }),
  draft('pool at 0.95x, cold', { workload: { rate: () => 190, steps: pool50 }, seconds: 12, changesAt: [] }),
  // A pool behind an idle loop.
  ...[1.1, 3, 10].map(k =>
    draft(`pool of 20 of 100 ms at ${k}x`, {
      workload: { rate: () => k * 200, steps: random => poolOf(50 + 100 * random.next()), poolSize: 20 },
      seconds: 30,
      ideal: () => 200,
      changesAt: [],
    }),
  ),
  answersNobody(100, 8, 13),
  answersNobody(300, 8, 16),
]
