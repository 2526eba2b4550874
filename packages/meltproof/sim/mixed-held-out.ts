/**
 * Twenty mixes on one path for the final judgement only: do not look at the results of a limiter on them while it is
 * being changed. Written like `mixed.ts`, by the same author and before the limiter ran on either. The description of
 * the ideal there applies here too.
 */
import { sharedCore } from './core.ts'
import {
  awaits,
  burns,
  enough,
  holds,
  HOLDS_CPU,
  lognormal,
  onePath,
  pareto,
  paretoMean,
  refused,
  scarce,
  uniformly,
  uniformlyOfCore,
} from './mixed-parts.ts'
import { anew, PARSE, uniform } from './scenario-parts.ts'
import { every, type Scenario } from './scenarios.ts'
import type { Step } from './workload.ts'

/** A popular key. It expires some time after it was rebuilt, and each request that finds it missing rebuilds it. */
class HotKey {
  readonly #livesMs: number
  readonly #rebuildMs: number
  #builtAt = 0

  constructor(livesMs: number, rebuildMs: number) {
    this.#livesMs = livesMs
    this.#rebuildMs = rebuildMs
  }

  has(nowMs: number): boolean {
    return nowMs >= this.#builtAt && nowMs < this.#builtAt + this.#livesMs
  }

  rebuild(nowMs: number): number {
    if (nowMs >= this.#builtAt + this.#livesMs) this.#builtAt = nowMs + this.#rebuildMs
    return this.#rebuildMs
  }

  reset(): void {
    this.#builtAt = 0
  }
}

const frontPage = new HotKey(10_000, 300)

/** Fields of a GraphQL query: Pareto between 0.5 and 300 ms of CPU. */
const QUERY = { least: 0.5, most: 300, tail: 1.1 }
const QUERY_MS = paretoMean(QUERY.least, QUERY.most, QUERY.tail)
const queryRate = (20 * 1000) / (QUERY_MS + PARSE)

/** Calls per batch: geometric with a mean of 12, at most 60. */
const MEAN_BATCH = 12
const MOST_BATCH = 60
const batchSize = (u: number): number =>
  Math.min(MOST_BATCH, 1 + Math.floor(Math.log(1 - u) / Math.log(1 - 1 / MEAN_BATCH)))
/** The mean with the cut at 60. */
const meanBatch = MEAN_BATCH * (1 - (1 - 1 / MEAN_BATCH) ** MOST_BATCH)
const BATCH_MS = 0.5 + 1.5 * meanBatch

/** A day of a minute: 100/s at night and 1000/s at noon, when 30 % instead of 10 % miss the cache. */
const noon = (nowMs: number): number => 0.5 - 0.5 * Math.cos((2 * Math.PI * nowMs) / 60_000)
const dayRate = (nowMs: number): number => 100 + 900 * noon(nowMs)
const dayMisses = (nowMs: number): number => dayRate(nowMs) * (0.1 + 0.2 * noon(nowMs))

const expired = (nowMs: number): boolean => nowMs < 200
const quotaSpent = (nowMs: number): boolean => nowMs >= 15_000 && nowMs % 10_000 >= 5000
const suggestIsSlow = (nowMs: number): boolean => nowMs >= 20_000 && nowMs < 35_000
const halfACore = (nowMs: number): number => (nowMs >= 10_000 && nowMs < 25_000 ? 0.5 : 1)

const ENOUGH: readonly Scenario[] = [
  // The front page expires 10 s after it was rebuilt. A rebuild holds one of twenty connections for 300 ms, and until
  // the first is done each of 400 requests a second begins another: 120 rebuilds, gone after 1.8 s. Otherwise a hit
  // burns 0.5 ms. No request may be shed; the second half of each stampede is late.
  enough('a hot key expires every 10 s, 400/s, 120 rebuilds of 300 ms on a pool of 20', {
    workload: {
      ...onePath('/front', {
        perSecond: 400,
        steps: (_, nowMs) => (frontPage.has(nowMs) ? burns(0.5) : holds('origin', atMs => frontPage.rebuild(atMs))),
      }),
      pools: { origin: 20 },
      core: anew(frontPage),
    },
    seconds: 60,
  }),
  // A gateway in front of language models that starts with expired keys: its first twenty or so answers are 401. Then
  // 60/s take 5 to 30 s. From 15 s on the quota is spent for half of every ten seconds, and two of three get status 429
  // after 30 ms. No request may be shed; none can be in time.
  enough('a gateway that begins with 401, 60/s of 5 to 30 s, and two of three 429 now and then', {
    workload: onePath(
      '/v1/messages',
      {
        perSecond: nowMs => (expired(nowMs) ? 0 : quotaSpent(nowMs) ? 20 : 60),
        steps: random => awaits(uniform(random, 5000, 30_000)),
      },
      { perSecond: nowMs => (expired(nowMs) ? 120 : 0), steps: () => refused(401, 0.3) },
      {
        perSecond: nowMs => (quotaSpent(nowMs) ? 40 : 0),
        steps: (): Step[] => [{ cpu: 0.2 }, { wait: 30 }, { status: 429 }],
      },
    ),
    seconds: 60,
    ideal: () => 0,
  }),
  // A feed holds 1,000 long polls until there is news, every 20 s. Then it answers all at once (0.3 ms), and they ask
  // again. Next to them are 100/s of posts on the same path, 2 ms. The burst is half a second of work. No request may be shed.
  enough('news every 20 s for 1,000 long polls, beside 100/s of 2 ms', {
    workload: {
      ...onePath(
        '/feed',
        { perSecond: 100, steps: () => burns(2) },
        { perSecond: 0, steps: (_, nowMs) => [{ cpu: 0.1 }, { wait: 20_000 - (nowMs % 20_000) }, { cpu: 0.3 }] },
      ),
      cohorts: [{ atMs: 1000, withinMs: 5000, clients: 1000, requests: 4, kind: () => 1 }],
    },
    seconds: 60,
    ideal: () => 100,
  }),
  // After a flash message 3,000 phones send requests at once, twice each, to an idle process. Every handler waits 1.5 s
  // for a partner and burns a quarter of a millisecond: half a second of CPU for all. No request may be shed; none can
  // be in time.
  enough('3,000 phones at once, twice each, handlers that wait 1.5 s', {
    workload: {
      ...onePath('/offer', { perSecond: 5, steps: () => burns(0.5) }, { perSecond: 0, steps: () => awaits(1500) }),
      cohorts: [{ atMs: 4000, clients: 3000, requests: 2, thinkMs: 500, kind: () => 1 }],
    },
    seconds: 20,
    ideal: () => 5,
  }),
  // A job posts 500 records at once every 8 s, 2 ms of CPU each, to a service that otherwise serves 10/s of 1 ms. That
  // is 1 s of work. No request may be shed.
  enough('500 posts of 2 ms at once every 8 s on a service of 10/s', {
    workload: {
      ...onePath('/records', { perSecond: 10, steps: () => burns(1) }, { perSecond: 0, steps: () => burns(2) }),
      cohorts: [5, 13, 21, 29].map(s => ({ atMs: s * 1000, clients: 500, requests: 1, kind: () => 1 })),
    },
    seconds: 40,
    ideal: s => (s % 8 === 5 ? 480 : 10),
  }),
  // Templates of very different sizes, rendered in one piece: lognormal around 4 ms with a sigma of 1 (6.6 ms on
  // average), 60/s, next to 100/s of 1 ms. Garbage collection stops the process for 250 ms every 3 s. Half of the core
  // is used. No request may be shed.
  enough('lognormal renders in one piece at half of the core, and stalls of 250 ms', {
    workload: {
      ...onePath(
        '/render',
        { perSecond: 100, steps: () => burns(1) },
        { perSecond: 60, steps: random => [{ cpu: lognormal(random, 4, 1) }] },
      ),
      stalls: every(3000, 250, 60),
    },
    seconds: 60,
  }),
  // Photos from phones: 60/s with bodies that take 0.5 to 8 s, then one of four threads for 30 ms (133/s at most), and
  // 40/s of previews (2 ms) on the same path. About 255 uploads in service wait for their clients. No
  // request may be shed.
  enough('60/s of uploads of 0.5 to 8 s before four threads at 0.45x, beside 40/s of 2 ms', {
    workload: {
      ...onePath(
        '/photos',
        { perSecond: 40, steps: () => burns(2) },
        {
          perSecond: 60,
          steps: random => [
            { cpu: 0.2 },
            { upload: uniform(random, 500, 8000) },
            { pool: 30, of: 'threads' },
            { cpu: 0.2 },
          ],
        },
      ),
      pools: { threads: 4 },
    },
    seconds: 60,
    ideal: () => 40 + (60 * (970 - 500)) / 7500,
  }),
  // An internal tool: 2/s, three of four burn 100 ms, the fourth waits 8 s. No request may be shed.
  enough('2/s: three of four burn 100 ms, the fourth waits 8 s', {
    workload: onePath(
      '/tool',
      { perSecond: 1.5, steps: () => burns(100) },
      { perSecond: 0.5, steps: () => awaits(8000) },
    ),
    seconds: 120,
    ideal: () => 1.5,
  }),
]

const SCARCE: readonly Scenario[] = [
  // GraphQL queries whose cost depends on their depth: Pareto between 0.5 and 300 ms of CPU, tail index 1.1, at 20x of
  // the core. The ideal is uniform admission, minus the cost of the sheds.
  scarce('GraphQL of Pareto cost, 0.5 to 300 ms, at 20x of the core', {
    workload: onePath('/graphql', {
      perSecond: queryRate,
      steps: random => burns(pareto(random, QUERY.least, QUERY.most, QUERY.tail)),
    }),
    seconds: 30,
    ideal: () => uniformlyOfCore([{ rate: queryRate, ms: QUERY_MS }]),
  }),
  // tRPC batches: 0.5 ms, plus 1.5 ms for each call, 12 on average and 60 at most. 2x of the core.
  scarce('batches of 1 to 60 calls of 1.5 ms at 2x of the core', {
    workload: onePath('/trpc', {
      perSecond: 2000 / BATCH_MS,
      steps: random => burns(0.5 + 1.5 * batchSize(random.next())),
    }),
    seconds: 40,
    ideal: () => uniformlyOfCore([{ rate: 2000 / BATCH_MS, ms: BATCH_MS }]),
  }),
  // A cache that hits four of five: 500/s, a hit burns 1 ms, a miss holds one of six connections for 150 ms: 40/s of
  // the 100/s that miss. The ideal is two fifths of both, 200/s.
  scarce('a cache that hits 80 % of 500/s, misses of 150 ms at 2.5x', {
    workload: {
      ...onePath(
        '/item',
        { perSecond: 400, steps: () => burns(1) },
        { perSecond: 100, steps: () => holds('origin', 150) },
      ),
      pools: { origin: 6 },
    },
    seconds: 60,
    ideal: () =>
      uniformly(6, [
        { rate: 400, ms: 0 },
        { rate: 100, ms: 150 },
      ]),
  }),
  // A neighbour takes half of the core from 10 to 25 s. 300/s of 1 ms and 40/s of 12 ms need 0.8 of it. The ideal is
  // uniform admission during that time, and no shed otherwise.
  scarce('half of the core is taken for 15 s, 300/s of 1 ms and 40/s of 12 ms', {
    workload: {
      ...onePath('/page', { perSecond: 300, steps: () => burns(1) }, { perSecond: 40, steps: () => burns(12) }),
      core: () => sharedCore(halfACore),
    },
    seconds: 40,
    ideal: s =>
      uniformlyOfCore(
        [
          { rate: 300, ms: 1 },
          { rate: 40, ms: 12 },
        ],
        1000 * halfACore(s * 1000 + 500),
      ),
    changesAt: [10, 25],
  }),
  // Twice, 240 previews arrive at once, 50 ms on four threads: 3 s of work, on a service of 150/s that burn 1 ms. 80 of
  // a burst can be in time, and another 80 within two seconds. Sheds are allowed only for the last third of a burst.
  scarce('bursts of 240 previews, 3 s of four threads, beside 150/s of 1 ms', {
    workload: {
      ...onePath(
        '/preview',
        { perSecond: 150, steps: () => burns(1) },
        { perSecond: 0, steps: () => holds('threads', 50) },
      ),
      pools: { threads: 4 },
      cohorts: [10, 30].map(s => ({ atMs: s * 1000, clients: 240, requests: 1, kind: () => 1 })),
    },
    seconds: 50,
    ideal: s => 150 + (s === 10 || s === 30 ? 80 : 0),
    changesAt: [],
  }),
  // A day of a minute: 100/s at night, 1000/s at noon, and the share that misses the cache grows from 10 to 30 %. A
  // miss holds one of six connections for 50 ms, 120/s: 2.5x at noon. A hit burns 0.4 ms. The ideal is uniform
  // admission.
  scarce('a day: 100 to 1000/s, and 10 to 30 % miss a pool of 120/s', {
    workload: {
      ...onePath(
        '/page',
        { perSecond: nowMs => dayRate(nowMs) - dayMisses(nowMs), steps: () => burns(0.4) },
        { perSecond: dayMisses, steps: () => holds('origin', 50) },
      ),
      pools: { origin: 6 },
    },
    seconds: 60,
    ideal: s => {
      const nowMs = s * 1000 + 500
      return uniformly(6, [
        { rate: dayRate(nowMs) - dayMisses(nowMs), ms: 0 },
        { rate: dayMisses(nowMs), ms: 50 },
      ])
    },
  }),
  // Suggestions, 8 % of 300/s, hold one of sixteen sockets for 20 ms, and for 900 ms from 20 to 35 s: then 17.8/s of
  // the 24/s are answered. The others hold one of ten connections for 15 ms. The suggestions that wait are less than
  // 2 % of all requests, so no request need be shed: the ideal is all the others.
  scarce('suggestions, 8 % of 300/s, take 900 ms instead of 20 for 15 s', {
    workload: {
      ...onePath(
        '/graphql',
        { perSecond: 276, steps: () => holds('db', 15) },
        { perSecond: 24, steps: () => holds('suggest', nowMs => (suggestIsSlow(nowMs) ? 900 : 20)) },
      ),
      pools: { db: 10, suggest: 16 },
    },
    seconds: 60,
    ideal: s => (s >= 20 && s < 37 ? 276 : 300),
    changesAt: [20, 35],
  }),
  // A ledger: transfers take a lock for 25 ms one after the other, 40/s of the 100/s that arrive; 400/s of reads burn 1
  // ms. The ideal is uniform admission, 200/s.
  scarce('a lock of 25 ms for 100/s of transfers beside 400/s of reads', {
    workload: {
      ...onePath(
        '/ledger',
        { perSecond: 400, steps: () => burns(1) },
        { perSecond: 100, steps: () => holds('lock', 25) },
      ),
      pools: { lock: 1 },
    },
    seconds: 40,
    ideal: () =>
      uniformly(1, [
        { rate: 400, ms: 0 },
        { rate: 100, ms: 25 },
      ]),
  }),
  // A partner allows 50 calls a second. Its SDK spaces them and holds back the others; a call then takes 150 ms. 150/s
  // need it, and 150/s burn 1 ms. The ideal is uniform admission: a third, 100/s.
  scarce('an API of 50 calls/s for half of 300/s', {
    workload: {
      ...onePath(
        '/rpc',
        { perSecond: 150, steps: () => burns(1) },
        {
          perSecond: 150,
          steps: (): Step[] => [{ cpu: 0.1 }, { pool: 20, of: 'quota' }, { wait: 150 }, { cpu: 0.1 }],
        },
      ),
      pools: { quota: 1 },
    },
    seconds: 40,
    ideal: () =>
      uniformly(1, [
        { rate: 150, ms: 0 },
        { rate: 150, ms: 20 },
      ]),
  }),
  // Server-rendered answers of 4 ms at 2.4x of the core, and on the same path 10/s of event streams that the client
  // reads for 30 s. A stream burns 1 ms and is never in time. The ideal is uniform admission.
  scarce('600/s of 4 ms at 2.4x of the core, and 10/s of streams of 30 s', {
    workload: onePath(
      '/ai',
      { perSecond: 600, steps: () => burns(4) },
      { perSecond: 10, steps: (): Step[] => [{ cpu: 1 }, { stream: 30_000 }] },
    ),
    seconds: 60,
    ideal: () =>
      uniformlyOfCore([
        { rate: 600, ms: 4 },
        { rate: 10, ms: 1, good: 0 },
      ]),
  }),
  // A tiny service: 20,000/s of 0.04 ms, and one in a hundred reads a pool of ten for 5 ms. 1.5x of the core.
  scarce('20,000/s of 0.04 ms, one in a hundred over a pool, 1.5x of the core', {
    workload: {
      ...onePath(
        '/flag',
        { perSecond: 19_800, steps: () => burns(0.04) },
        { perSecond: 200, steps: () => holds('db', 5) },
      ),
      pools: { db: 10 },
    },
    seconds: 8,
    ideal: () =>
      uniformlyOfCore([
        { rate: 19_800, ms: 0.04 },
        { rate: 200, ms: HOLDS_CPU },
      ]),
  }),
  // Reads of 1 ms, 480/s, and reports that hold one of ten connections for 250 ms, 160/s and 4x. Clients that are shed
  // or have waited 2 s try twice more. The ideal is uniform admission: 40/s of reports from the pool, and three times
  // as many reads.
  scarce('reports at 4x of a pool, one request in four, and clients who try three times', {
    workload: {
      ...onePath('/rpc', { perSecond: 480, steps: () => burns(1) }, { perSecond: 160, steps: () => holds('db', 250) }),
      pools: { db: 10 },
      patienceMs: 2000,
      retries: 2,
    },
    seconds: 40,
    ideal: () =>
      uniformly(10, [
        { rate: 480, ms: 0 },
        { rate: 160, ms: 250 },
      ]),
  }),
]

export const MIXED_HELD_OUT: readonly Scenario[] = [...ENOUGH, ...SCARCE]
