/**
 * Thirty-nine scenarios that a Node engineer meets in production. Their author had read neither the limiter nor its
 * results on any other set, and they were committed before it ran on them. They follow the style of `unseen.ts`.
 *
 * The comment before each says why a service is like that, what the ideal is, and whether sheds are allowed. `ideal` is
 * what the scarce resource can do per second, minus the core's cost of sheds, and at most the load offered. It gives no
 * credit for work that a queue carries past the end of a burst or an outage. Where kinds or tenants can be told apart,
 * perfect admission serves the cheapest first. An answer after more than a second is never good, so `ideal` is the part
 * that can be in time. Where no answer can be, `ideal` is the load offered, and only the sheds matter
 * (`changesAt: []`). `3x` means three times the capacity of the scarce resource.
 *
 * Where no request may be shed (`AMPLE`), a server without admission would answer all of them in time, or as soon as
 * the handler's dependency does.
 */
import { cpuQuota } from './core.ts'
import {
  ample,
  anew,
  between,
  coldDone,
  Connections,
  coreServes,
  kindsOf,
  overload,
  PARSE,
  ROOM,
  sliced,
  steady,
  uniform,
} from './scenario-parts.ts'
import { poolOf, type Scenario, waits } from './scenarios.ts'
import type { Step, Taken } from './workload.ts'

/** No query ends from `from` to `to` seconds. Those that hang end after `to`, in their usual time. */
const hangs =
  (ms: number, outages: readonly (readonly [from: number, to: number])[]): ((nowMs: number) => number) =>
  nowMs => {
    const outage = outages.find(([from, to]) => nowMs >= from * 1000 && nowMs < to * 1000)
    return outage === undefined ? ms : outage[1] * 1000 + ms - nowMs
  }

// Two pools.
const ordersDb = new Connections(10)
const payments = new Connections(4)
const partnerSockets = new Connections(5)
/** A call to the partner takes 8 ms on the way, and then holds a socket for 120 ms. */
const partnerCall = (nowMs: number): Taken => {
  const { takesMs } = partnerSockets.query(nowMs + 8, 120)
  return { takesMs: 8 + takesMs, ownMs: 128 }
}
// Thirty connections; only ten are left from 15 to 30 s.
const failedOver = new Connections(30, (connection, atMs) =>
  connection >= 10 && atMs >= 15_000 && atMs < 30_000 ? 30_000 : atMs,
)
// Two connections, and one more every 500 ms, up to twenty.
const openedOneByOne = new Connections(20, (connection, atMs) => Math.max(atMs, 500 * (connection - 1)))

// 2 ms of CPU: 0.3x, up to 5x at 30 s, down to 0.3x at 40 s.
const rampRate = (nowMs: number): number =>
  491 * (nowMs < 30_000 ? between(nowMs, 0, 30_000, 0.3, 5) : between(nowMs, 30_000, 40_000, 5, 0.3))
// A pool of 667/s: 0.5x, and 8x from 4 to 6 s of every ten.
const pushRate = (nowMs: number): number => 667 * (nowMs % 10_000 >= 4000 && nowMs % 10_000 < 6000 ? 8 : 0.5)
// 6 ms of CPU: a day of 40 s between 0.3x and 2.2x.
const dayRate = (nowMs: number): number => 165 * (1.25 - 0.95 * Math.cos((2 * Math.PI * nowMs) / 40_000))
/** 3 ms, and 9 ms from 15 to 30 s. */
const deployed = (nowMs: number): number => (nowMs >= 15_000 && nowMs < 30_000 ? 9 : 3)

// 4 ms of CPU that take six times as long at first. A third of the excess is left after 400 requests. 223/s arrive.
const COLD = { times: 6, requests: 400, ms: 4, rate: 223 }
const OVERLOAD: readonly Scenario[] = [
  // A pool is scarce.

  // Sessions are looked up over a small pool, 2 ms a query, and a crawler drops its cookie. Two connections do 1000/s.
  // Sheds are allowed.
  overload('pool of 2, 2 ms, 3x', {
    workload: { rate: steady(3000), steps: () => poolOf(2), poolSize: 2 },
    seconds: 15,
    ideal: () => 1000,
  }),
  // Reports on a warehouse that allows eight sessions. At 630 to 770 ms each, they leave little time to wait. The ideal
  // is 8 / 0.7 s. Sheds are allowed.
  overload('pool of 8, 630 to 770 ms, 3x', {
    workload: { rate: steady(34), steps: random => poolOf(uniform(random, 630, 770)), poolSize: 8 },
    seconds: 60,
    ideal: () => 8 / 0.7,
  }),
  // An order is written to Postgres (10 connections, 40 ms: 250/s) and then charged at a provider that allows four
  // calls at once (25 ms: 160/s). The ideal is the narrower of the two: 160/s. Sheds are allowed.
  overload('two pools one after the other, 3x of the narrower', {
    workload: {
      rate: steady(480),
      steps: () => [
        { cpu: 0.1 },
        { pool: now => ordersDb.query(now, 40) },
        { cpu: 0.1 },
        { pool: now => payments.query(now, 25) },
        { cpu: 0.1 },
      ],
      poolSize: ROOM,
      core: anew(ordersDb, payments),
    },
    seconds: 30,
    ideal: () => 160,
  }),
  // A checkout calls a partner inside its transaction. It holds one of ten connections for 8 ms and while it waits for
  // one of five sockets and for the partner (120 ms: 41.7/s). Reads need a connection for 8 ms. The ideal is all reads,
  // and the checkouts that the sockets can do: these hold 5.3 connections of ten, the reads 3.2. Sheds are allowed.
  overload('transactions held while a partner is asked, beside reads', {
    workload: {
      ...kindsOf({ perSecond: 400, steps: () => poolOf(8) }, { perSecond: 100, steps: () => poolOf(partnerCall) }),
      poolSize: 10,
      core: anew(partnerSockets),
    },
    seconds: 30,
    ideal: () => 400 + 5 / 0.12,
  }),
  // One pool of twelve serves lists by key (4 ms) and a search without an index (90 ms) that has become popular. The
  // ideal is all lists (2.4 connections), and searches on the other 9.6: 107/s. Sheds are allowed.
  overload('pool of 12 shared by lists of 4 ms and searches of 90 ms', {
    workload: {
      ...kindsOf({ perSecond: 600, steps: () => poolOf(4) }, { perSecond: 400, steps: () => poolOf(90) }),
      poolSize: 12,
    },
    seconds: 30,
    ideal: () => 600 + (12 - 600 * 0.004) / 0.09,
  }),
  // A failover to a smaller replica leaves ten of thirty connections for 15 s; 20 ms a query. 900/s arrive. The ideal
  // is 1500/s, and 500/s during those 15 s. Sheds are allowed only then.
  overload('a pool of 30 that has 10 from 15 to 30 s', {
    workload: {
      rate: steady(900),
      steps: () => poolOf(now => failedOver.query(now, 20)),
      poolSize: ROOM,
      core: anew(failedOver),
    },
    seconds: 42,
    ideal: s => (s >= 15 && s < 30 ? 500 : 1500),
    changesAt: [15, 30],
  }),
  // The planner drops an index: queries of 8 ms take 60 until an operator runs ANALYZE. 700/s arrive. The ideal is
  // 2500/s, and 333/s without the index. Sheds are allowed only then.
  overload('pool of 20, 8 ms that become 60 from 12 to 32 s', {
    workload: { rate: steady(700), steps: () => poolOf(now => (now >= 12_000 && now < 32_000 ? 60 : 8)), poolSize: 20 },
    seconds: 45,
    ideal: s => (s >= 12 && s < 32 ? 20 / 0.06 : 2500),
    changesAt: [12, 32],
  }),

  // The core is scarce.

  // A lookup in memory answered as JSON, behind a cache that was flushed. The ideal is what the core does. Sheds are
  // allowed.
  overload('0.3 ms of cpu at 3x', {
    workload: { rate: steady(9000), steps: () => [{ cpu: 0.3 }] },
    seconds: 30,
    ideal: () => coreServes(0.3, 9000),
  }),
  // A page rendered on the server in one piece, 50 ms of renderToString, on the day of a campaign. The ideal is what
  // the core does. Sheds are allowed.
  overload('50 ms synchronous at 2x', {
    workload: { rate: steady(40), steps: () => [{ cpu: 50 }] },
    seconds: 60,
    ideal: () => coreServes(50, 40),
  }),
  // Pages of 12 ms with a large heap: the garbage of 200 pages stops the loop for 60 ms, 0.3 ms per page. The ideal is
  // what the core does. Sheds are allowed.
  overload('12 ms of cpu at 1.6x with pauses of 60 ms for garbage', {
    workload: { rate: steady(130), steps: () => sliced(12, 3), gc: { everyRequests: 200, pauseMs: 60 } },
    seconds: 40,
    ideal: () => coreServes(12.3, 130),
  }),
  // A small API whose process also makes PDFs, 45 ms in nine slices, while a user exports everything. The ideal is all
  // of the API, and as many PDFs as the rest of the core can do. Sheds are allowed.
  overload('an API of 0.4 ms beside PDFs of 45 ms', {
    workload: kindsOf({ perSecond: 500, steps: () => [{ cpu: 0.4 }] }, { perSecond: 60, steps: () => sliced(45, 9) }),
    seconds: 40,
    ideal: () => 500 + coreServes(45, 60, 1000 - 500 * (0.4 + PARSE)),
  }),
  // A deploy makes requests three times as expensive, 9 ms instead of 3, and is rolled back after 15 s. The load is
  // 0.76x, 2.3x and 0.76x. The ideal is what the core does. Sheds are allowed until the rollback.
  overload('3 ms of cpu that become 9 from 15 to 30 s', {
    workload: { rate: steady(250), steps: (_, nowMs) => sliced(deployed(nowMs), 3) },
    seconds: 42,
    ideal: s => coreServes(deployed(s * 1000), 250),
    changesAt: [15, 30],
  }),
  // Tickets go on sale: from the first second on, thirty times the load that 4 ms of CPU allow. The ideal is what the
  // core does. Sheds are allowed.
  overload('4 ms of cpu at 30x', {
    workload: { rate: steady(7440), steps: () => [{ cpu: 4 }] },
    seconds: 12,
    ideal: () => coreServes(4, 7440),
  }),
  // A container limited to half a CPU: it runs 50 ms in every 100, then stops. The ideal is 500 ms of CPU per second.
  // Sheds are allowed.
  overload('3 ms of cpu under a quota of half a core, 1.5x', {
    workload: {
      rate: steady(250),
      steps: () => [{ cpu: 3 }],
      core: () => cpuQuota(50, 100, 0, Number.POSITIVE_INFINITY),
    },
    seconds: 40,
    ideal: () => coreServes(3, 250, 500),
  }),

  // The load changes.

  // A story spreads for half a minute and is forgotten in ten seconds. The ideal is what the core can serve. Sheds are
  // allowed above 1x.
  overload('2 ms of cpu, a ramp from 0.3x to 5x and back', {
    workload: { rate: rampRate, steps: () => [{ cpu: 2 }] },
    seconds: 50,
    ideal: s => coreServes(2, rampRate(s * 1000 + 500)),
    changesAt: [40],
  }),
  // A push notification opens the app on every phone at once: 8x for two seconds of every ten. A pool of 20 at 30 ms
  // does 667/s, which is the ideal. Sheds are allowed in the bursts.
  overload('pool of 20, 30 ms, bursts of 2 s at 8x', {
    workload: { rate: pushRate, steps: () => poolOf(30), poolSize: 20 },
    seconds: 50,
    ideal: () => 20 / 0.03,
    changesAt: [],
  }),
  // A day in 40 s: the nights are quiet, the evenings need twice the core. The ideal is what the core does. Sheds are
  // allowed above 1x.
  overload('6 ms of cpu, two days between 0.3x and 2.2x', {
    workload: { rate: dayRate, steps: () => sliced(6, 3) },
    seconds: 80,
    ideal: s => coreServes(6, dayRate(s * 1000 + 500)),
    changesAt: [],
  }),

  // Outages and clients.

  // The database's primary moves twice, for 1 s and for 5 s, and queries hang during the moves. 0.75x of 800/s arrive.
  // The ideal is all of them outside the outages, and nothing during them. Sheds are allowed for the requests that the
  // outages held up.
  overload('pool of 16, 20 ms, outages of 1 and 5 s', {
    workload: {
      rate: steady(600),
      steps: () =>
        poolOf(
          hangs(20, [
            [8, 9],
            [20, 25],
          ]),
        ),
      poolSize: 16,
    },
    seconds: 40,
    ideal: s => (s === 8 || (s >= 20 && s < 25) ? 0 : 800),
    changesAt: [9, 25],
  }),
  // The same pool with one outage of 15 s, and clients that give up after 2 s and try three more times. Before and
  // after it, 0.7x of 800/s arrive. Sheds are allowed.
  overload('pool of 16, 20 ms, an outage of 15 s with clients that try again', {
    workload: {
      rate: steady(560),
      steps: () => poolOf(hangs(20, [[10, 25]])),
      poolSize: 16,
      patienceMs: 2000,
      retries: 3,
    },
    seconds: 45,
    ideal: s => (s >= 10 && s < 25 ? 0 : 800),
    changesAt: [25],
  }),
  // A mobile SDK tries four more times after an error: 1.3x of the pool become up to 2.5x. The ideal is 500/s. Sheds
  // are allowed.
  overload('pool of 10, 20 ms, 1.3x and a retry storm', {
    workload: { rate: steady(650), steps: () => poolOf(20), poolSize: 10, retries: 4 },
    seconds: 30,
    ideal: () => 500,
  }),
  // Suggestions while a user types: after 150 ms the client has sent another request, and the query keeps running. A
  // pool of 8 at 15 ms does 533/s. Sheds are allowed.
  overload('pool of 8, 15 ms, 4x, clients leave after 150 ms', {
    workload: { rate: steady(2133), steps: () => poolOf(15), poolSize: 8, patienceMs: 150 },
    seconds: 20,
    ideal: () => 8 / 0.015,
  }),
  // One tenant's script scans a whole table, 200 ms a query and 2000 queries a second, on the path that forty other
  // tenants use (5/s each, 30 ms). The ideal is all of the forty (6 of 15 connections), and the script on the other
  // nine: 45/s. Sheds are allowed.
  overload('pool of 15, one tenant floods with queries of 200 ms', {
    workload: {
      ...kindsOf(
        {
          perSecond: 200,
          steps: () => poolOf(30),
          path: () => '/items',
          client: random => 1 + Math.floor(40 * random.next()),
        },
        { perSecond: 2000, steps: () => poolOf(200), path: () => '/items', client: () => 0 },
      ),
      poolSize: 15,
    },
    seconds: 30,
    ideal: () => 200 + (15 - 200 * 0.03) / 0.2,
  }),
  // A pod starts under its full share, 0.9x of what a warm core does at 4 ms of CPU. Nothing is compiled, so requests
  // cost six times as much at first. The ideal is what a core that never rests answers, and all requests once it has
  // caught up. Sheds are allowed.
  overload('4 ms of cpu at 0.9x, started cold', {
    workload: {
      rate: steady(COLD.rate),
      steps: () => sliced(COLD.ms, 2),
      warmUp: { times: COLD.times, requests: COLD.requests },
    },
    seconds: 40,
    ideal: s => coldDone(COLD, (s + 1) * 1000) - coldDone(COLD, s * 1000),
  }),
  // A pod starts at 0.9x of its pool. The pool opens one connection every half second, from 2 to 20, and a query takes
  // 20 ms. The ideal is 50/s for each open connection. Sheds are allowed in the first nine seconds.
  overload('a pool that opens 20 connections one by one, at 0.9x', {
    workload: {
      rate: steady(900),
      steps: () => poolOf(now => openedOneByOne.query(now, 20)),
      poolSize: ROOM,
      core: anew(openedOneByOne),
    },
    seconds: 25,
    ideal: s => 50 * Math.min(20, 2.5 + 2 * s),
    changesAt: [9],
  }),
  // Webhooks to partners that take 400 to 800 ms (they need nothing scarce) next to reads that need twice the pool. The
  // ideal is all webhooks and 500 reads a second. Sheds of reads are allowed.
  overload('webhooks of 400 to 800 ms beside reads at 2x of a pool of 10', {
    workload: {
      ...kindsOf(
        { perSecond: 1000, steps: () => poolOf(20) },
        { perSecond: 150, steps: random => waits(uniform(random, 400, 800)) },
      ),
      poolSize: 10,
    },
    seconds: 25,
    ideal: () => 500 + 150,
  }),
]

const AMPLE: readonly Scenario[] = [
  // A chat holds long polls for 25 to 30 s, until there is news. 4100 are open at once and need hardly any CPU. The
  // ideal is the load offered. No request may be shed.
  ample('long polls of 25 to 30 s, 150/s', {
    workload: { rate: steady(150), steps: random => waits(uniform(random, 25_000, 30_000)) },
    seconds: 60,
    changesAt: [],
  }),
  // A gateway to a model: 1.5 to 4 s until the first token, then thirty chunks 100 ms apart. The ideal is the load
  // offered. No request may be shed.
  ample('a gateway to a model that streams for 5 to 7 s, 40/s', {
    workload: {
      rate: steady(40),
      steps: random => [
        { cpu: 0.5 },
        { wait: uniform(random, 1500, 4000) },
        ...Array.from({ length: 30 }, (): Step[] => [{ cpu: 0.1 }, { wait: 100 }]).flat(),
        { cpu: 0.1 },
      ],
    },
    seconds: 60,
    changesAt: [],
  }),
  // Webhooks to a partner that takes 20 s, next to reads at half of what a pool of ten can do. The ideal is the reads.
  // No request may be shed.
  ample('webhooks of 20 s beside reads at 0.5x of a pool of 10', {
    workload: {
      ...kindsOf(
        { perSecond: 1000, steps: () => poolOf(5) },
        { perSecond: 30, steps: random => waits(uniform(random, 19_000, 21_000)) },
      ),
      poolSize: 10,
    },
    seconds: 40,
    ideal: () => 1000,
  }),
  // A partner that answers in 300 ms suddenly needs 15 s. Requests that wait for it do not delay the others, which burn
  // 1 ms of CPU at 0.3x. The ideal is the load offered, and from 20 s on only the others. No request may be shed.
  ample('a partner of 300 ms that takes 15 s from 20 s on, beside cheap reads', {
    workload: kindsOf(
      { perSecond: 300, steps: () => [{ cpu: 1 }] },
      { perSecond: 80, steps: (_, nowMs) => waits(nowMs < 20_000 ? 300 : 15_000) },
    ),
    seconds: 50,
    ideal: s => (s < 20 ? 380 : 300),
    changesAt: [],
  }),
  // SQLite behind one connection, 4 ms a statement, at 0.7x. The ideal is the load offered. No request may be shed.
  ample('pool of 1, 4 ms, 0.7x', {
    workload: { rate: steady(175), steps: () => poolOf(4), poolSize: 1 },
    seconds: 40,
  }),
  // Reports of 1.9 to 2.1 s over a hundred connections at 0.85x, for users who know to wait. The ideal is the load
  // offered. No request may be shed.
  ample('pool of 100, 2 s a query, 0.85x', {
    workload: { rate: steady(42.5), steps: random => poolOf(uniform(random, 1900, 2100)), poolSize: 100 },
    seconds: 60,
    changesAt: [],
  }),
  // A shop with a well-sized pool: 20 connections, 10 to 40 ms, at 0.9x. The ideal is the load offered. No request may
  // be shed.
  ample('pool of 20, 10 to 40 ms, 0.9x', {
    workload: { rate: steady(720), steps: random => poolOf(uniform(random, 10, 40)), poolSize: 20 },
    seconds: 40,
  }),
  // Thumbnails of 15 ms, each in one piece, at 0.85x: some wait behind a few others. The ideal is the load offered. No
  // request may be shed.
  ample('15 ms synchronous at 0.85x', {
    workload: { rate: steady(56.5), steps: () => [{ cpu: 15 }] },
    seconds: 60,
  }),
  // GraphQL: one path, 1 ms of CPU for most, 40 ms in ten slices for one in twenty, at 0.75x. The ideal is the load
  // offered. No request may be shed.
  ample('one path of 1 ms, and 40 ms for one in twenty, at 0.75x', {
    workload: {
      rate: steady(251),
      steps: random => (random.next() < 0.05 ? sliced(40, 10) : [{ cpu: 1 }]),
    },
    seconds: 60,
  }),
  // A heap of two gigabytes: once in 1500 requests the loop stops for 150 ms. Otherwise the core is at 0.6x. The ideal
  // is the load offered. No request may be shed.
  ample('3 ms of cpu at 0.6x with pauses of 150 ms for garbage', {
    workload: { rate: steady(200), steps: () => sliced(3, 3), gc: { everyRequests: 1500, pauseMs: 150 } },
    seconds: 60,
  }),
  // A pod starts cold under its full share. The pool is at 0.9x at once, and the CPU suffices (0.5x) although requests
  // cost five times as much at first. The ideal is the load offered. No request may be shed.
  ample('pool of 10, 20 ms, 0.9x from a cold start', {
    workload: { rate: steady(450), steps: () => poolOf(20), poolSize: 10, warmUp: { times: 5, requests: 500 } },
    seconds: 30,
  }),
  // A cron job sends seventy requests at once every five seconds, next to 50/s. Ten connections of 30 ms finish them
  // within 210 ms. The ideal is the load offered. No request may be shed.
  ample('pool of 10, 30 ms, seventy at once every 5 s', {
    workload: { rate: nowMs => (nowMs % 5000 >= 2500 && nowMs % 5000 < 2600 ? 800 : 50), steps: () => poolOf(30) },
    seconds: 60,
  }),
  // Another instance dies, and this one takes over its share: 0.1x, 0.9x from 12 s on, 0.3x from 36 s on, of a pool of
  // 50 at 80 ms. The ideal is the load offered. No request may be shed.
  ample('pool of 50, 80 ms, steps of 0.1x, 0.9x and 0.3x', {
    workload: {
      rate: nowMs => 625 * (nowMs < 12_000 ? 0.1 : nowMs < 36_000 ? 0.9 : 0.3),
      steps: () => poolOf(80),
      poolSize: 50,
    },
    seconds: 45,
    changesAt: [12, 36],
  }),
  // A ledger that syncs to disk, 6 ms a group plus 0.1 ms per entry. Groups grow with the load. It could do many
  // thousand per second; 1500/s arrive, and the core is at 0.4x. The ideal is the load offered. No request may be shed.
  ample('writes that share one sync of the disk, 1500/s', {
    workload: {
      rate: steady(1500),
      steps: () => [{ cpu: 0.1 }, 'write', { cpu: 0.1 }],
      group: { writeMs: 6, eachMs: 0.1 },
    },
    seconds: 30,
  }),
]

/** The fresh scenarios: 25 in which something is scarce, and 14 in which no request may be shed. */
export const FRESH: readonly Scenario[] = [...OVERLOAD, ...AMPLE].map(each => ({
  ...each,
  name: `fresh: ${each.name}`,
}))
