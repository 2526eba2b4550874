/**
 * Thirty scenarios that a Node engineer meets in production. Their author had read neither the limiter nor its results
 * on any set, and they were committed before it ran on them. They follow the style of `fresh.ts`.
 *
 * The comment before each says why a service is like that, what the ideal is, and whether sheds are allowed. `ideal` is
 * what the scarce resource can do per second, minus the core's cost of sheds, and at most the load offered. It gives no
 * credit for work that a queue carries past the end of a burst or an outage. Admission can tell requests apart by path
 * (`kinds`), and then serves the cheapest first; otherwise it cannot see what a request will cost. An answer after more
 * than a second is never good.
 *
 * Where no request may be shed (`AMPLE`), a server without admission answers all of them in time, or as soon as the
 * handler's dependency does. `3x` means three times the capacity of the scarce resource.
 */
import { cpuQuota } from './core.ts'
import { EventHeap } from './event-heap.ts'
import { FlushedCache } from './flushed-cache.ts'
import {
  ample,
  anew,
  between,
  type Cold,
  coldDone,
  Connections,
  coreDoes,
  coreServes,
  kindsOf,
  overload,
  PARSE,
  ROOM,
  SHED,
  sliced,
  steady,
  uniform,
} from './scenario-parts.ts'
import { poolOf, type Scenario, waits } from './scenarios.ts'
import type { Step, Taken } from './workload.ts'

/**
 * A dependency that answers `knee` queries at once in their usual time, and slows down beyond: `n` queries take (n /
 * knee) ** power times as long, at most `mostMs`. With a power of 1 its throughput is the same for any number of
 * queries; with a higher power it falls as their number grows. Use it from a `pool` step of an unlimited pool.
 */
class Knee {
  readonly #ends = new EventHeap<true>()
  readonly #knee: (nowMs: number) => number
  readonly #power: number
  readonly #mostMs: number

  constructor(knee: number | ((nowMs: number) => number), power: number, mostMs = Number.POSITIVE_INFINITY) {
    this.#knee = typeof knee === 'number' ? steady(knee) : knee
    this.#power = power
    this.#mostMs = mostMs
  }

  /** How long a query takes that arrives at `nowMs` and would take `ms` alone. */
  query(nowMs: number, ms: number): Taken {
    while (this.#ends.nextAt <= nowMs) this.#ends.pop()
    const crowd = Math.max(1, (this.#ends.size + 1) / this.#knee(nowMs))
    const takes = Math.min(this.#mostMs, ms * crowd ** this.#power)
    this.#ends.push(nowMs + takes, true)
    return { takesMs: takes, ownMs: Math.min(takes, ms) }
  }

  reset(): void {
    while (this.#ends.pop() !== undefined);
  }
}

/** A partner that allows `perSecond` calls per second, and `burst` at once after a pause. */
class RateLimit {
  readonly #perSecond: number
  readonly #burst: number
  #tokens = 0
  #atMs = 0

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond
    this.#burst = burst
  }

  allows(nowMs: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#atMs) * this.#perSecond) / 1000)
    this.#atMs = nowMs
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  reset(): void {
    this.#tokens = this.#burst
    this.#atMs = 0
  }
}

/** Counts the requests in service. The CPU of garbage collection grows with the memory that they hold. */
class Heap {
  #requests = 0

  enter(): number {
    return ++this.#requests
  }

  leave(): number {
    this.#requests--
    return 0
  }

  reset(): void {
    this.#requests = 0
  }
}

const searchCluster = new Knee(16, 1.5)
const losesNodes = new Knee(nowMs => (nowMs >= 15_000 && nowMs < 30_000 ? 12 : 40), 1.4)
const scaled = (s: number): number => Math.min(4, 1 + Math.floor(s / 15))
const autoscaled = new Knee(nowMs => 10 * scaled(nowMs / 1000), 1.3)
const collapses = new Knee(20, 1.6, 3000)
const softly = new Knee(24, 1)
const softlyAmple = new Knee(16, 1)
const geocoder = new RateLimit(300, 30)
const fragments = new FlushedCache(4000, 12_000)
const bodies = new Heap()
const rowLock = new Connections(1)
const shards = [0, 1, 2].map(
  shard => new Connections(10, (_, atMs) => (shard === 0 && atMs >= 10_000 && atMs < 25_000 ? 25_000 : atMs)),
)
const redis = new Connections(1, (_, atMs) =>
  atMs % 5000 >= 2500 && atMs % 5000 < 2750 ? atMs - (atMs % 5000) + 2750 : atMs,
)

/** One call to the geocoder: 60 ms, or a 429 after which its SDK waits a second, three times at most. */
const geocode = (): Step[] => {
  let answered = false
  const attempt: Step = {
    pool: nowMs => {
      if (answered) return 0
      answered = geocoder.allows(nowMs)
      return answered ? 60 : { takesMs: 1000, ownMs: 0 }
    },
  }
  return [{ cpu: 0.1 }, attempt, attempt, attempt, { cpu: 0.1 }]
}

/** A request with a body of 2 MB: 3 ms of CPU, plus 1 % for each request in memory. */
const withBody = (): Step[] => {
  const cpu = 1.5 * (1 + bodies.enter() / 100)
  return [{ cpu }, { wait: 100 }, { cpu }, { pool: () => bodies.leave() }]
}
/**
 * Throughput x, per second, of a full core with as few requests in memory as possible. Each costs 3 (1 + n / 100) ms.
 * n, the number in memory, is the 0.1 x that wait 100 ms, plus two at the core.
 */
const bodiesServed = (rate: number): number => {
  const perRequest = 3 * 1.02 + PARSE - SHED
  const more = 3 * 0.001
  return (-perRequest + Math.sqrt(perRequest ** 2 + 4 * more * (1000 - rate * SHED))) / (2 * more)
}

/** Pareto with a tail index of 1.3, from 1 ms to at most 120 ms. */
const PARETO = { tail: 1.3, mostMs: 120, meanMs: 1 + (1 - 120 ** -0.3) / 0.3 }

/** The four replicas of a dependency restart one by one, every 6 s from 10 s on. Each is cold for 5 s. */
const coldReplica = (nowMs: number): number | undefined =>
  nowMs >= 10_000 && nowMs < 34_000 && (nowMs - 10_000) % 6000 < 5000 ? Math.floor((nowMs - 10_000) / 6000) : undefined

const DAY = [0.4, 0.9, 1.5, 2.5, 1.1, 0.5]
const PODS = [4, 2, 1.33, 1, 0.8]
const podRate = (nowMs: number): number => 198 * PODS[Math.min(PODS.length - 1, Math.floor(nowMs / 10_000))]!
/** 1.5 ms, rising to 9 from 10 to 50 s. */
const growing = (nowMs: number): number => between(nowMs, 10_000, 50_000, 1.5, 9)
const alertRate = (nowMs: number): number => 491 * (nowMs % 8000 >= 4000 && nowMs % 8000 < 5000 ? 30 : 1.1)
const advertRate = (nowMs: number): number =>
  nowMs < 30_000 ? between(nowMs, 10_000, 13_000, 20, 1800) : between(nowMs, 30_000, 34_000, 1800, 20)
const reconnectRate = (nowMs: number): number => (nowMs % 20_000 >= 10_000 && nowMs % 20_000 < 12_000 ? 900 : 100)

// 3 ms of CPU that take six times as long at first. A third of the excess is left after 250 requests. 1300/s
// arrive, and clients send each request up to four times.
const RESTART: Cold = { times: 6, requests: 250, ms: 3, rate: 4 * 1300 }

const FEEDS = 40 / 0.1025

/** No query starts or ends from `from` to `to` ms. Queries that arrive then take their usual time afterwards. */
const stoppedUntil = (nowMs: number, from: number, to: number): number => (nowMs >= from && nowMs < to ? to - nowMs : 0)

const OVERLOAD: readonly Scenario[] = [
  // A dependency has a knee.

  // A search cluster of sixteen cores answers sixteen queries at once in 20 ms. Beyond that, queries evict each other's
  // caches, and times grow faster than their number. A shop sends twice the capacity of 16 / 20 ms: 800/s. Sheds are
  // allowed.
  overload('search cluster with a knee at 16, 20 ms, 2x', {
    workload: {
      rate: steady(1600),
      steps: () => poolOf(nowMs => searchCluster.query(nowMs, 20)),
      poolSize: ROOM,
      core: anew(searchCluster),
    },
    seconds: 30,
    ideal: () => 800,
  }),
  // The same kind of cluster loses most of its nodes for 15 s, and its knee falls from 40 to 12; 25 ms a query. 800/s
  // arrive. The ideal is 1600/s, and 480/s with fewer nodes. Sheds are allowed only then. A fixed limit reaches at most
  // 93 % of the ideal, one that follows the knee 99 %.
  overload('knee of 40, 25 ms, that is 12 from 15 to 30 s, 800/s', {
    workload: {
      rate: steady(800),
      steps: () => poolOf(nowMs => losesNodes.query(nowMs, 25)),
      poolSize: ROOM,
      core: anew(losesNodes),
    },
    seconds: 45,
    ideal: s => (s >= 15 && s < 30 ? 480 : 1600),
    changesAt: [15, 30],
  }),
  // A model server is scaled by its load: one replica with a knee at 10 (50 ms), one more every 15 s, four in the end.
  // 700/s arrive. The ideal is 200/s per replica. Sheds are allowed until the fourth is up. A fixed limit reaches
  // at most 88 % of the ideal, a limit of eleven per replica 97 %.
  overload('knee of 10, 50 ms, and ten more every 15 s, 700/s', {
    workload: {
      rate: steady(700),
      steps: () => poolOf(nowMs => autoscaled.query(nowMs, 50)),
      poolSize: ROOM,
      core: anew(autoscaled),
    },
    seconds: 60,
    ideal: s => 200 * scaled(s),
    changesAt: [0, 15, 30, 45],
  }),
  // A database at 0.6x of its knee (20 queries of 10 ms, 2000/s) stops for 3 s. Afterwards the second, third and fourth
  // tries of all clients keep it beyond the knee for good, at a fraction of its throughput. The ideal is all of 1200/s
  // outside the outage, which needs an admission that sheds the retries until it has recovered. Sheds are allowed.
  overload('knee of 20, 10 ms, 0.6x, and retries after an outage of 3 s', {
    workload: {
      rate: steady(1200),
      steps: () => [
        { cpu: 0.05 },
        { pool: nowMs => stoppedUntil(nowMs, 15_000, 18_000) },
        { pool: nowMs => collapses.query(nowMs, 10) },
        { cpu: 0.05 },
      ],
      poolSize: ROOM,
      patienceMs: 800,
      retries: 3,
      core: anew(collapses),
    },
    seconds: 45,
    ideal: s => (s >= 15 && s < 18 ? 0 : 2000),
    changesAt: [18],
  }),
  // A day in 48 s in front of a dependency with shared cores (24 at once, exponential times around 60 ms, and
  // proportionally slower beyond): 0.4x, 0.9x, 1.5x, 2.5x, 1.1x and 0.5x. The ideal is 24 / 60 ms: 400/s. Sheds are
  // allowed above 1x.
  overload('shared cores, 24 at 60 ms, a day between 0.4x and 2.5x', {
    workload: {
      rate: nowMs => 400 * DAY[Math.min(DAY.length - 1, Math.floor(nowMs / 8000))]!,
      steps: random => {
        const ms = random.exponential(60)
        return poolOf(nowMs => softly.query(nowMs, ms))
      },
      poolSize: ROOM,
      core: anew(softly),
    },
    seconds: 48,
    ideal: () => 400,
    changesAt: [16, 24, 32, 40],
  }),
  // A geocoder allows 300 calls a second and answers the others 429. Its SDK then waits a second inside the handler. Of
  // 600/s, the 300 within the allowance are answered in 60 ms. Sheds are allowed.
  overload('a partner that allows 300 calls/s, 600/s', {
    workload: { rate: steady(600), steps: geocode, poolSize: ROOM, core: anew(geocoder) },
    seconds: 40,
    ideal: () => 300,
  }),

  // A pool is scarce.

  // Photos arrive over phone networks for 200 to 600 ms, then libuv's four threads resize each in 60 ms. The ideal is 4
  // / 60 ms, 66.7/s of 200/s. It requires that about thirty of those in service wait for a body. Sheds are allowed.
  overload('uploads of 200 to 600 ms before four threads of 60 ms, 3x', {
    workload: {
      rate: steady(200),
      steps: random => [{ cpu: 0.2 }, { wait: uniform(random, 200, 600) }, { pool: 60 }, { cpu: 0.2 }],
      poolSize: 4,
    },
    seconds: 40,
    ideal: () => 4 / 0.06,
  }),
  // Redis loses 4000 rendered fragments at 12 s. Each returns when a request has built it over a pool of ten (25 ms:
  // 400/s). Admission cannot see which requests will miss: while a share f of the fragments is missing, 400 / f
  // requests a second are served, and f falls by a tenth every second. Sheds are allowed for the seven seconds in which
  // that is less than the 1200/s that arrive.
  overload('a cache of 4000 fragments lost at 12 s, 1200/s over a pool of 10', {
    workload: {
      rate: steady(1200),
      steps: (random, nowMs) => {
        const key = Math.floor(fragments.keys * random.next())
        if (fragments.has(key, nowMs)) return [{ cpu: 0.2 }]
        const build = (): number => {
          fragments.fill(key)
          return 25
        }
        return [{ cpu: 0.2 }, { pool: build }]
      },
      core: anew(fragments),
    },
    seconds: 35,
    ideal: s => 400 / Math.max(0.01, 1 - (s >= 12 ? 0.1 * (s + 0.5 - 12) : 1)),
    changesAt: [12],
  }),
  // Flash sale: seven orders of ten are for one article and lock its row for 10 ms (100/s). Each holds one of twenty
  // connections while it waits for the row, and the path is the same for all. The ideal is 100 / 0.7, 143/s of 400/s:
  // admitting more only fills the pool with orders that wait for the row. Sheds are allowed.
  overload('one row is locked by seven orders of ten, 400/s over a pool of 20', {
    workload: {
      rate: steady(400),
      steps: random => poolOf(random.next() < 0.7 ? nowMs => rowLock.query(nowMs, 10) : 10),
      poolSize: 20,
      core: anew(rowLock),
    },
    seconds: 30,
    ideal: () => 100 / 0.7,
  }),
  // A dependency of four replicas is deployed. One after the other restarts and takes eight times as long for 5 s, and
  // a quarter of the queries go there. 560/s arrive. A pool of 24 at 30 ms does 800/s, and 24 / (30 (0.75 + 0.25 * 8))
  // ms, 291/s, during a restart. Sheds are allowed only then.
  overload('a dependency of four replicas restarts one by one, pool of 24 at 0.7x', {
    workload: {
      rate: steady(560),
      steps: random => {
        const replica = Math.floor(4 * random.next())
        return poolOf(nowMs => (coldReplica(nowMs) === replica ? 240 : 30))
      },
      poolSize: 24,
    },
    seconds: 45,
    ideal: s => (coldReplica(s * 1000 + 500) === undefined ? 800 : 24 / (0.03 * 2.75)),
    changesAt: [10, 34],
  }),
  // A partner's job posts 350 records at once twice a second, over a pool of 12 at 25 ms. The ideal is 480/s of 700/s:
  // half a second suffices for 240 of each batch, and then the next batch arrives. Sheds are allowed.
  overload('350 at once twice a second, pool of 12, 25 ms', {
    workload: {
      rate: steady(700),
      arrivals: Array.from({ length: 60 * 350 }, (_, i) => ({
        atMs: 250 + 500 * Math.floor(i / 350) + 0.1 * (i % 350),
        kind: 0,
      })),
      steps: () => poolOf(25),
      poolSize: 12,
    },
    seconds: 30,
    ideal: () => 12 / 0.025,
  }),
  // Ten exports a second keep a cursor open for 3 s while their client reads, over the pool of ten that quick reads
  // need too (300/s of 10 ms: three connections). The ideal is all reads, while exports get the other seven
  // connections; an export is never in time. Sheds of exports are allowed. No single limit for both reaches it: perfect
  // admission limits the exports by their path.
  overload('exports that hold a cursor for 3 s beside reads, one pool of 10', {
    workload: {
      ...kindsOf({ perSecond: 300, steps: () => poolOf(10) }, { perSecond: 10, steps: () => poolOf(3000) }),
      poolSize: 10,
    },
    seconds: 40,
    ideal: () => 300,
  }),
  // One of three shards hangs for 15 s (10 connections to each, 5 ms a query), and the path does not show the shard of
  // a request. The ideal is the other two thirds of 600/s during the hang, and all before and after. Requests for the
  // hanging shard may be shed. Those that wait for it delay no other request, so only a limit above their number, 3000,
  // reaches the ideal.
  overload('one of three shards hangs from 10 to 25 s, 600/s', {
    workload: {
      rate: steady(600),
      steps: random => {
        const shard = shards[Math.floor(3 * random.next())]!
        return poolOf(nowMs => shard.query(nowMs, 5))
      },
      poolSize: ROOM,
      core: anew(...shards),
    },
    seconds: 40,
    ideal: s => (s >= 10 && s < 25 ? 400 : 600),
    changesAt: [25],
  }),

  // The core is scarce.

  // A GraphQL endpoint: one path, and the cost of a query follows a power law from 1 to 120 ms, 3.5 ms on average, in
  // slices of 4 ms. The ideal is what the core does of 500/s, which is 1.8x. Sheds are allowed.
  overload('cpu of 1 to 120 ms by a power law, one path, 1.8x', {
    workload: {
      rate: steady(500),
      steps: random => {
        const ms = Math.min(PARETO.mostMs, (1 - random.next()) ** (-1 / PARETO.tail))
        return sliced(ms, Math.ceil(ms / 4))
      },
    },
    seconds: 50,
    ideal: () => coreServes(PARETO.meanMs, 500),
  }),
  // A proxy parses bodies of 2 MB and holds them for the 100 ms that its upstream takes. The more are in memory, the
  // more each garbage collection copies. The core is full with 28 in service, where a request costs 3.9 ms: 256/s. With
  // 200 in service it does less than half of that. Sheds are allowed.
  overload('3 ms of cpu, 1 % more for each request in memory, 3x', {
    workload: { rate: steady(780), steps: withBody, poolSize: ROOM, core: anew(bodies) },
    seconds: 40,
    ideal: () => bodiesServed(780),
  }),
  // Every request scans an index in memory, and other processes add to it all day: 1.5 ms become 9, and at 220/s 0.33x
  // becomes 2x. The ideal is what the core does. Sheds are allowed above 1x.
  overload('cpu of 1.5 ms that becomes 9 from 10 to 50 s, 220/s', {
    workload: { rate: steady(220), steps: (_, nowMs) => sliced(growing(nowMs), 3) },
    seconds: 60,
    ideal: s => coreServes(growing(s * 1000 + 500), 220),
    changesAt: [],
  }),
  // Pods are added one by one, and the load of this one falls from 4x to 0.8x in steps of 10 s. A balancer tries each
  // request twice more. 5 ms of CPU around a call of 60 ms. The ideal is what the core does, minus the sheds of three
  // tries. Sheds are allowed above 1x.
  overload('5 ms of cpu around 60 ms, 4x that fall to 0.8x, two retries', {
    workload: { rate: podRate, steps: () => [{ cpu: 2 }, { wait: 60 }, { cpu: 3 }], retries: 2 },
    seconds: 50,
    ideal: s => coreServes(5, 3 * podRate(s * 1000 + 500)),
    changesAt: [0, 20, 30],
  }),
  // A busy evening at 1.1x, and an alert goes out to all phones: 30x for one second of every eight. 2 ms of CPU. The
  // ideal is what the core does; in that second, sheds take an eighth of it. Sheds are allowed.
  overload('2 ms of cpu at 1.1x, and 30x for a second of every eight', {
    workload: { rate: alertRate, steps: () => [{ cpu: 2 }] },
    seconds: 48,
    ideal: s => coreServes(2, alertRate(s * 1000 + 500)),
    changesAt: [],
  }),
  // A process was killed and restarts under 4x of what 3 ms of CPU allow. Nothing is compiled, and clients try three
  // more times. The ideal is what a cold core that never rests answers, minus the sheds of four tries. Sheds are
  // allowed.
  overload('3 ms of cpu at 4x with three retries, started cold', {
    workload: {
      rate: steady(1300),
      steps: () => sliced(RESTART.ms, 3),
      retries: 3,
      warmUp: { times: RESTART.times, requests: RESTART.requests },
    },
    seconds: 30,
    ideal: s => coldDone(RESTART, (s + 1) * 1000) - coldDone(RESTART, s * 1000),
  }),
  // Three routes and two scarce resources: a feed over a pool of 40 (100 ms), pages that burn 25 ms in slices of 2.5
  // (60/s, 1.8x of the rest of the core), and a ping that burns 0.2 ms (300/s). The loop frees a connection one slice
  // late, so the pool serves 390 of 700 feeds a second (40 / 102.5 ms). The ideal is all pings, those feeds, and pages
  // with the rest of the core. Sheds of feeds and pages are allowed. No single limit for all reaches it: perfect
  // admission limits each by its path.
  overload('a feed at 1.8x of its pool beside pages at 1.8x of the core and pings', {
    workload: {
      ...kindsOf(
        { perSecond: 300, steps: () => [{ cpu: 0.2 }] },
        { perSecond: 700, steps: () => poolOf(100) },
        { perSecond: 60, steps: () => sliced(25, 10) },
      ),
      poolSize: 40,
    },
    seconds: 40,
    ideal: () => 300 + FEEDS + coreDoes(25 + PARSE, 700 - FEEDS + 60, SHED, 1000 - (300 + FEEDS) * (0.2 + PARSE)),
  }),
]

const AMPLE: readonly Scenario[] = [
  // Redis runs one command at a time, 0.2 ms, and lists a large set every 5 s, 250 ms. Clients give up after a second
  // and try twice more. 1500/s are 0.3x of Redis and 0.35x of the core, and the 375 that pile up are gone 110 ms later.
  // The ideal is the load offered. No request may be shed.
  ample('Redis of 0.2 ms at 0.3x that stands still for 250 ms every 5 s', {
    workload: {
      rate: steady(1500),
      steps: () => poolOf(nowMs => redis.query(nowMs, 0.2)),
      poolSize: ROOM,
      patienceMs: 1000,
      retries: 2,
      core: anew(redis),
    },
    seconds: 40,
  }),
  // A fifth of 1000/s miss the cache and need a pool of ten (20 ms: 500/s). Every 5 s a hot key expires, and all miss
  // for 250 ms until it is back. 125 then wait, the last for a quarter of a second. The ideal is the load offered. No
  // request may be shed.
  ample('a hot key expires every 5 s, and everybody misses for 250 ms', {
    workload: {
      rate: steady(1000),
      steps: (random, nowMs) =>
        (nowMs % 5000 >= 3000 && nowMs % 5000 < 3250) || random.next() < 0.2 ? poolOf(20) : [{ cpu: 0.2 }],
    },
    seconds: 40,
  }),
  // A balancer restarts, and all clients reconnect for two seconds: 100/s become 900/s of 0.4 ms of handshake and 0.4
  // ms of handler, 0.75x of the core. The ideal is the load offered. No request may be shed.
  ample('everybody connects anew, 100/s become 900/s at 0.75x for 2 s', {
    workload: {
      rate: reconnectRate,
      steps: () => [{ cpu: 0.4 }],
      fresh: { lanes: 8, acceptCostMs: 0.4 },
    },
    seconds: 40,
    changesAt: [],
  }),
  // A container limited to 0.3 CPU runs 30 ms in every 100 and then stops. Requests of 12 ms use 0.6x of it, and none
  // waits for more than a few periods. The ideal is the load offered. No request may be shed.
  ample('12 ms of cpu at 0.6x of a quota of 30 ms in 100', {
    workload: {
      rate: steady(15),
      steps: () => sliced(12, 3),
      core: () => cpuQuota(30, 100, 0, Number.POSITIVE_INFINITY),
    },
    seconds: 60,
  }),
  // A partner hangs, and a circuit breaker answers for it in 5 ms. For one second of every ten it lets all requests
  // try, and they wait 700 ms. 2 in service become 210; nothing is scarce. The ideal is the load offered. No request
  // may be shed.
  ample('a circuit breaker lets a second of timeouts of 700 ms through every 10 s', {
    workload: {
      rate: steady(300),
      steps: (_, nowMs) => waits(nowMs % 10_000 >= 5000 && nowMs % 10_000 < 6000 ? 700 : 5),
    },
    seconds: 50,
    changesAt: [],
  }),
  // An advert on television: 20/s become 1800/s within three seconds, for 17 s. Each waits 150 ms for a partner with
  // unlimited capacity, and the core is at 0.6x. The ideal is the load offered. No request may be shed.
  ample('from 20/s to 1800/s within 3 s, 150 ms of waiting', {
    workload: { rate: advertRate, steps: () => waits(150) },
    seconds: 45,
    changesAt: [],
  }),
  // Videos arrive over slow lines for 5 to 40 s, 20/s, 450 at once, and burn 12 ms each once they are complete, next to
  // reads of 2 ms (150/s). The core is at 0.55x. The ideal is the reads. No request may be shed.
  ample('uploads of 5 to 40 s that end with 12 ms of cpu, beside reads', {
    workload: kindsOf(
      { perSecond: 150, steps: () => sliced(2, 2) },
      { perSecond: 20, steps: random => [{ cpu: 0.2 }, { wait: uniform(random, 5000, 40_000) }, ...sliced(12, 3)] },
    ),
    seconds: 70,
    ideal: () => 150,
    changesAt: [],
  }),
  // A dependency with shared cores (16 at once, exponential times around 40 ms, proportionally slower beyond) at 0.8x.
  // Now and then twice as many queries arrive by chance and all get slower, and then it catches up. The ideal is the
  // load offered. No request may be shed.
  ample('shared cores, 16 at 40 ms, exponential, 0.8x', {
    workload: {
      rate: steady(320),
      steps: random => {
        const ms = random.exponential(40)
        return poolOf(nowMs => softlyAmple.query(nowMs, ms))
      },
      poolSize: ROOM,
      core: anew(softlyAmple),
    },
    seconds: 60,
  }),
  // A dependency's new version takes 33 ms instead of 15 for 20 s, until it is rolled back. A pool of twenty at 500/s
  // goes from 0.38x to 0.83x and back. The ideal is the load offered. No request may be shed.
  ample('pool of 20, 15 ms that become 33 from 15 to 35 s, 0.83x at most', {
    workload: {
      rate: steady(500),
      steps: () => poolOf(nowMs => (nowMs >= 15_000 && nowMs < 35_000 ? 33 : 15)),
      poolSize: 20,
    },
    seconds: 50,
    changesAt: [15, 35],
  }),
  // An ORM that loads lazily: three queries one after the other over the same pool of ten, 6 ms each, and each queues
  // for the pool anew. 10 / 18 ms is 556/s, and 470/s are 0.85x of it. The ideal is the load offered. No request may be
  // shed.
  ample('three queries of 6 ms each over a pool of 10, 0.85x', {
    workload: {
      rate: steady(470),
      steps: () => [{ cpu: 0.1 }, { pool: 6 }, { cpu: 0.1 }, { pool: 6 }, { cpu: 0.1 }, { pool: 6 }, { cpu: 0.1 }],
    },
    seconds: 50,
  }),
]

/** Twenty in which something is scarce, and ten in which no request may be shed. */
export const THIRTY: readonly Scenario[] = [...OVERLOAD, ...AMPLE].map(each => ({
  ...each,
  name: `thirty: ${each.name}`,
}))
