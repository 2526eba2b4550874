/**
 * Dependencies of uneven pace: a database that commits in groups on a shared disk, a partner that is slow for a moment.
 * While it is slow, more requests are in service and each takes longer, but they do not wait for each other.
 *
 * UNEVEN may be looked at while tuning. UNEVEN_HELD_OUT was written at the same time, before any result was seen, and
 * is not tuned on. Its overloads must still be recognised, because their requests do wait for each other.
 */
import { ample, kindsOf, overload, steady } from './scenario-parts.ts'
import { poolOf, type Scenario, waits } from './scenarios.ts'
import type { Random } from './random.ts'
import type { Step } from './workload.ts'

/** Log-normal, about as uneven as commits on a cloud disk. */
const uneven = (random: Random, medianMs: number, sigma: number): number => {
  const normal = Math.sqrt(2 * random.exponential(1)) * Math.cos(2 * Math.PI * random.next())
  return medianMs * Math.exp(sigma * normal)
}

/** Commits around `medianMs`, and occasionally one that takes much longer. */
const disk =
  (medianMs: number, sigma: number, hiccup: { readonly share: number; readonly ms: number } = { share: 0, ms: 0 }) =>
  (random: Random): number =>
    random.next() < hiccup.share ? uneven(random, hiccup.ms, 0.5) : uneven(random, medianMs, sigma)

const write = (cpuMs: number): Step[] => [{ cpu: cpuMs / 2 }, 'write', { cpu: cpuMs / 2 }]

/** Waits `ms`, but `times` as long in the first `forMs` of every `everyMs` except the first, for all requests alike. */
const slowAtTimes = (nowMs: number, ms: number, times: number, forMs: number, everyMs: number): Step[] =>
  waits(nowMs % everyMs < forMs && nowMs > everyMs ? ms * times : ms)

const commits = (name: string, perSecond: (nowMs: number) => number, writeMs: (random: Random) => number): Scenario =>
  ample(name, {
    workload: { rate: perSecond, steps: () => write(0.15), group: { writeMs, eachMs: 0.02 } },
    seconds: 20,
  })

export const UNEVEN: readonly Scenario[] = [
  commits(
    'group commits of 8 ms: 300, then 1,000, then 3,000/s',
    now => (now < 3000 ? 300 : now < 10_000 ? 1000 : 3000),
    disk(8, 0.5, { share: 0.01, ms: 60 }),
  ),
  commits('group commits of 8 ms at 1,000/s, smooth', steady(1000), disk(8, 0.3)),
  commits(
    'group commits of 5 ms at 2,000/s with stalls of 150 ms',
    steady(2000),
    disk(5, 0.4, { share: 0.005, ms: 150 }),
  ),
  ample('a partner of 10 ms at 1,000/s that takes 30 ms for half a second', {
    workload: { rate: steady(1000), steps: (_, now) => slowAtTimes(now, 10, 3, 500, 4000) },
    seconds: 20,
  }),
  overload('a pool of 10 of 50 ms at 3x, of uneven pace', {
    workload: { rate: steady(600), steps: random => poolOf(uneven(random, 44, 0.5)) },
    seconds: 20,
    ideal: () => 200,
  }),
  overload('group commits that cost 2 ms a part, at 3x', {
    workload: { rate: steady(1500), steps: () => write(0.1), group: { writeMs: disk(8, 0.5), eachMs: 2 } },
    seconds: 20,
    ideal: () => 490,
  }),
]

export const UNEVEN_HELD_OUT: readonly Scenario[] = [
  commits('group commits of 15 ms at 500/s', steady(500), disk(15, 0.6, { share: 0.02, ms: 120 })),
  commits('group commits of 3 ms at 2,500/s', steady(2500), disk(3, 0.7)),
  commits('group commits of 30 ms, from 200 to 1,500/s', now => (now < 8000 ? 200 : 1500), disk(30, 0.3)),
  commits(
    'group commits of 6 ms, load that comes and goes',
    now => (now % 4000 < 2000 ? 100 : 1800),
    disk(6, 0.5, { share: 0.01, ms: 80 }),
  ),
  ample('a cache of 5 ms that stands still for 100 ms every 2 s, at 1,200/s', {
    workload: { rate: steady(1200), steps: (_, now) => waits(now % 2000 < 100 ? 105 - (now % 2000) : 5) },
    seconds: 20,
  }),
  ample('reads of 4 ms beside group commits of 12 ms', {
    workload: {
      ...kindsOf(
        { perSecond: 900, steps: () => [{ cpu: 0.05 }, ...waits(4)] },
        { perSecond: 500, steps: () => write(0.2) },
      ),
      group: { writeMs: disk(12, 0.5, { share: 0.01, ms: 100 }), eachMs: 0.05 },
    },
    seconds: 20,
  }),
  ample('a partner of 20 ms, drifting to 60 ms and back, at 700/s', {
    workload: { rate: steady(700), steps: (random, now) => waits(uneven(random, 40 + 20 * Math.sin(now / 1500), 0.2)) },
    seconds: 20,
  }),
  overload('a pool of 20 of 20 ms, from 0.5x to 5x', {
    workload: {
      rate: now => (now < 6000 ? 500 : 5000),
      steps: random => [{ cpu: 0.02 }, ...poolOf(uneven(random, 18, 0.5))],
      poolSize: 20,
    },
    seconds: 20,
    ideal: () => 950,
    changesAt: [6],
  }),
  overload('a pool of 5 of 100 ms at 4x that was at 0.8x', {
    workload: {
      rate: now => (now < 6000 ? 40 : 200),
      steps: random => poolOf(uneven(random, 90, 0.4)),
      poolSize: 5,
    },
    seconds: 24,
    ideal: () => 50,
    changesAt: [6],
  }),
  overload('cheap commits, then ones that cost 3 ms a part, at 3x of those', {
    workload: {
      rate: now => (now < 6000 ? 600 : 1000),
      kinds: [
        { share: now => (now < 6000 ? 1 : 0), steps: () => [{ cpu: 0.1 }, ...waits(8)] },
        { share: now => (now < 6000 ? 0 : 1), steps: () => write(0.1) },
      ],
      steps: () => [],
      group: { writeMs: disk(6, 0.4), eachMs: 3 },
    },
    seconds: 20,
    ideal: s => (s < 6 ? 600 : 325),
    changesAt: [6],
  }),
]
