/**
 * Twenty mixes on one path: admission sees one route, and the cost of its requests differs. Their author had not read
 * the limiter, and they were committed before it ran on them. These may be looked at during development; the twenty of
 * `mixed-held-out.ts` are for the final judgement.
 *
 * The comment before each says why a service is like that, what the ideal is, and whether sheds are allowed. Where
 * capacity is scarce the ideal is uniform admission. It admits the share of all requests that the scarce resource can
 * do, equal for every operation, because nothing tells the operations apart. Its answers in time count; 4xx and 5xx do
 * not. Admission can exceed this ideal by answering some requests late: it admits everything, and the excess requests
 * for the scarce resource wait for ever. So the ideal is the best with at most 3 % of the answers late
 * (`bench/admission-oracle.ts` searches for better ones).
 *
 * Where capacity suffices (`enough`), a server without admission answers every request within two seconds, or one
 * second later than the request takes alone, so no request may be shed.
 */
import { stolenSlices } from './core.ts'
import { FlushedCache } from './flushed-cache.ts'
import {
  awaits,
  burns,
  enough,
  holds,
  lognormal,
  onePath,
  refused,
  scarce,
  uniformly,
  uniformlyOfCore,
} from './mixed-parts.ts'
import { anew, between, uniform } from './scenario-parts.ts'
import type { Scenario } from './scenarios.ts'

const fragments = new FlushedCache(3000, 15_000)
/** The share of the fragments that is missing in second `s`: eight connections rebuild 8 / 60 ms of them per second. */
const missing = (s: number): number => (s < 15 ? 0 : Math.max(0, 1 - ((8 / 0.06) * (s - 15 + 0.5)) / fragments.keys))

/** Reports per second, of 300 requests: 5 % until 10 s, 60 % from 70 s on. */
const reports = (nowMs: number): number => 300 * between(nowMs, 10_000, 70_000, 0.05, 0.6)

const floods = (nowMs: number): boolean => nowMs >= 10_000 && nowMs < 30_000
const broken = (nowMs: number): boolean => nowMs >= 10_000 && nowMs < 20_000
const searchIsSlow = (nowMs: number): boolean => nowMs >= 15_000 && nowMs < 35_000

const ENOUGH: readonly Scenario[] = [
  // Apollo Server: 200 queries a second of 1 ms, and four a second whose resolver waits 10 s for another service. The
  // core is a fifth busy, while forty slow queries in service wait. No request may be shed. Only the cheap ones can be
  // in time.
  enough('GraphQL: 200/s of 1 ms beside 4/s whose resolver waits 10 s', {
    workload: onePath(
      '/graphql',
      { perSecond: 200, steps: () => burns(1) },
      { perSecond: nowMs => (nowMs >= 5000 ? 4 : 0), steps: () => awaits(10_000) },
    ),
    seconds: 60,
    ideal: () => 200,
  }),
  // Pages behind a cache that hits 95 of 100: 1500/s. A hit burns 0.3 ms, a miss holds one of four connections for 40
  // ms. 75 misses a second use three quarters of the pool, and the hits half of the core. No request may be shed, and
  // all can be in time.
  enough('a cache that hits 95 %, 1500/s, misses at 0.75x of a pool', {
    workload: {
      ...onePath(
        '/page',
        { perSecond: 1425, steps: () => burns(0.3) },
        { perSecond: 75, steps: () => holds('origin', 40) },
      ),
      pools: { origin: 4 },
    },
    seconds: 40,
  }),
  // A gateway in front of language models: 40/s that wait 2 to 60 s (lognormal, median 8 s), and from 10 to 40 s
  // another 15/s with an expired key, which get status 401 at once. The process idles. No request may be shed; none
  // can be in time.
  enough('a model gateway, 40/s of 2 to 60 s, and 15/s of 401 for half a minute', {
    workload: onePath(
      '/v1/chat/completions',
      {
        perSecond: 40,
        steps: random => awaits(Math.min(60_000, Math.max(2000, lognormal(random, 8000, 0.8)))),
      },
      { perSecond: nowMs => (nowMs >= 10_000 && nowMs < 40_000 ? 15 : 0), steps: () => refused(401) },
    ),
    seconds: 60,
    ideal: () => 0,
  }),
  // An updates endpoint: it answers at once (3 ms of CPU) when there is news, and otherwise holds the request for 25 s.
  // 200/s are answered and 30/s held, so 750 are open in the end. The core is 0.6 busy. No request may be shed.
  enough('30/s of long polls of 25 s beside 200/s of 3 ms', {
    workload: onePath(
      '/updates',
      { perSecond: 200, steps: () => burns(3) },
      { perSecond: 30, steps: () => awaits(25_000) },
    ),
    seconds: 60,
    ideal: () => 200,
  }),
  // socket.io by polling: a deploy in front ends 800 connections, and their clients reconnect within 2 s. Each needs a
  // handshake of 2 ms, then polls of up to 25 s. That is 1.6 s of work in 2 s, next to 20/s of short posts. No request
  // may be shed, because a shed client reconnects at once.
  enough('800 socket.io clients reconnect within 2 s, polls of 25 s', {
    workload: {
      ...onePath(
        '/socket.io/',
        { perSecond: 20, steps: () => burns(1) },
        { perSecond: 0, steps: () => burns(2) },
        { perSecond: 0, steps: random => awaits(uniform(random, 15_000, 25_000)) },
      ),
      cohorts: [{ atMs: 10_000, withinMs: 2000, clients: 800, requests: 3, kind: n => (n === 0 ? 1 : 2) }],
    },
    seconds: 60,
    ideal: s => (s === 10 || s === 11 ? 420 : 20),
  }),
  // A load test, or a cron job of a thousand tenants: 2,000 clients at once on an idle process, three requests each.
  // Every handler waits 2.5 s for something with unlimited capacity. No request may be shed; none can be in time.
  enough('2,000 clients at once, three requests each, handlers that wait 2.5 s', {
    workload: {
      ...onePath('/report', { perSecond: 0, steps: () => awaits(2500) }),
      cohorts: [{ atMs: 2000, clients: 2000, requests: 3 }],
    },
    seconds: 20,
    ideal: () => 0,
  }),
  // Thumbnails on libuv's four threads, 50 ms each. The service idles except for 5/s, and three times 150 arrive at
  // once. All are done after 1.9 s. No request may be shed; half of each burst is in time.
  enough('150 thumbnails at once on four threads of 50 ms, three times', {
    workload: {
      ...onePath('/thumbnail', { perSecond: 5, steps: () => holds('threads', 50) }),
      pools: { threads: 4 },
      cohorts: [10, 20, 30].map(s => ({ atMs: s * 1000, clients: 150, requests: 1 })),
    },
    seconds: 40,
    ideal: s => (s === 10 || s === 20 || s === 30 ? 80 : 5),
  }),
  // A service of two requests a second. Then a dashboard opens, and its 75 panels send requests at once, 20 ms of CPU
  // each: 1.5 s of work. No request may be shed; 48 panels are in time.
  enough('a dashboard of 75 panels of 20 ms opens on a service of 2/s', {
    workload: {
      ...onePath('/query', { perSecond: 2, steps: () => burns(20) }),
      cohorts: [8, 16, 24, 32].map(s => ({ atMs: s * 1000, clients: 75, requests: 1 })),
    },
    seconds: 40,
    ideal: s => (s % 8 === 0 && s > 0 ? 48 : 2),
  }),
  // A client library with a bug sends 1,000/s of malformed calls for 20 s. Each gets status 400 after 0.15 ms, next to
  // 50/s that wait 400 ms and 50/s that wait 2 s. The core is a quarter busy. No request may be shed.
  enough('1,000/s of 400 for 20 s beside 50/s of 400 ms and 50/s of 2 s', {
    workload: onePath(
      '/rpc',
      { perSecond: 50, steps: () => awaits(400) },
      { perSecond: 50, steps: () => awaits(2000) },
      { perSecond: nowMs => (floods(nowMs) ? 1000 : 0), steps: () => refused(400, 0.15) },
    ),
    seconds: 45,
    ideal: () => 50,
  }),
  // The backend refuses connections from 10 to 20 s: each request gets status 503 after 1 ms, and its client tries
  // three more times. At other times it holds one of ten connections for 50 ms, at 0.75x. No request may be shed.
  enough('a backend that refuses for 10 s, quick 503 and three retries, at 0.75x', {
    workload: {
      ...onePath(
        '/api',
        { perSecond: nowMs => (broken(nowMs) ? 0 : 150), steps: () => holds('backend', 50) },
        { perSecond: nowMs => (broken(nowMs) ? 150 : 0), steps: () => refused(503, 1) },
      ),
      pools: { backend: 10 },
      retries: 3,
    },
    seconds: 40,
    ideal: s => (s >= 10 && s < 20 ? 0 : 150),
  }),
  // Three busy neighbours on the same core leave a quarter of it, in slices of 4 ms. 300/s that wait 300 ms and burn a
  // quarter of a millisecond need a twelfth. No request may be shed, and all can be in time.
  enough('300/s that wait 300 ms beside three busy processes on the core', {
    workload: {
      ...onePath(
        '/quote',
        { perSecond: 290, steps: () => awaits(300) },
        { perSecond: 10, steps: random => awaits(uniform(random, 500, 900)) },
      ),
      core: random => stolenSlices(random, { everyMs: 4, forMs: 12 }),
    },
    seconds: 40,
  }),
]

const SCARCE: readonly Scenario[] = [
  // JSON-RPC: seven of ten calls burn 0.5 ms, a quarter 4 ms, one in twenty 40 ms. At 3x of the core. The ideal is
  // uniform admission. Sheds are allowed.
  scarce('JSON-RPC of 0.5, 4 and 40 ms on the core at 3x', {
    workload: onePath(
      '/rpc',
      { perSecond: 630, steps: () => burns(0.5) },
      { perSecond: 225, steps: () => burns(4) },
      { perSecond: 45, steps: () => burns(40) },
    ),
    seconds: 40,
    ideal: () =>
      uniformlyOfCore([
        { rate: 630, ms: 0.5 },
        { rate: 225, ms: 4 },
        { rate: 45, ms: 40 },
      ]),
  }),
  // Pages behind a cache: 300/s hit and burn 2 ms, 300/s miss and hold one of ten connections for 100 ms, which can do
  // 100/s. The ideal is a third of both, 200/s. Without admission the 300 hits are in time, and no miss is ever
  // answered.
  scarce('hits of 2 ms and misses of a pool at 3x, 300/s each', {
    workload: {
      ...onePath(
        '/page',
        { perSecond: 300, steps: () => burns(2) },
        { perSecond: 300, steps: () => holds('origin', 100) },
      ),
      pools: { origin: 10 },
    },
    seconds: 60,
    ideal: () =>
      uniformly(10, [
        { rate: 300, ms: 0 },
        { rate: 300, ms: 100 },
      ]),
  }),
  // The cache is flushed at 15 s. Requests rebuild the 3,000 fragments, 60 ms each over eight connections, 133/s. While
  // a share f of them is missing, 133 / f requests a second can be served, of 900/s; that suffices again after 19 s.
  // Until then sheds are allowed.
  scarce('a cache of 3,000 fragments flushed at 15 s, 900/s over a pool of 8', {
    workload: {
      ...onePath('/fragment', {
        perSecond: 900,
        steps: (random, nowMs) => {
          const key = Math.floor(fragments.keys * random.next())
          if (fragments.has(key, nowMs)) return burns(0.3)
          const rebuild = (): number => {
            fragments.fill(key)
            return 60
          }
          return holds('origin', rebuild)
        },
      }),
      pools: { origin: 8 },
      core: anew(fragments),
    },
    seconds: 50,
    ideal: s => Math.min(900, 8 / 0.06 / Math.max(missing(s), 1e-6)),
    changesAt: [15],
  }),
  // The mix drifts: 300/s all the time, 5 % of them reports at first and 60 % a minute later. A report holds one of
  // eight connections for 80 ms, which allow 100/s; the others burn 1 ms. Connections are scarce once a third are
  // reports. The ideal is uniform admission.
  scarce('300/s whose reports grow from 5 to 60 %, pool of 8', {
    workload: {
      ...onePath(
        '/graphql',
        { perSecond: nowMs => 300 - reports(nowMs), steps: () => burns(1) },
        { perSecond: reports, steps: () => holds('db', 80) },
      ),
      pools: { db: 8 },
    },
    seconds: 80,
    ideal: s =>
      uniformly(8, [
        { rate: 300 - reports(s * 1000 + 500), ms: 0 },
        { rate: reports(s * 1000 + 500), ms: 80 },
      ]),
  }),
  // Queries with a heavy tail: half of 1200/s is answered from memory (0.3 ms), half queries the database, lognormal
  // around 20 ms with a sigma of 1.2. That is 41 ms on average, 243/s over ten connections, so 2.5x. The ideal is
  // uniform admission.
  scarce('lognormal queries on a pool at 2.5x, beside as many from memory', {
    workload: {
      ...onePath(
        '/search',
        { perSecond: 600, steps: () => burns(0.3) },
        { perSecond: 600, steps: random => holds('db', lognormal(random, 20, 1.2)) },
      ),
      pools: { db: 10 },
    },
    seconds: 40,
    ideal: () =>
      uniformly(10, [
        { rate: 600, ms: 0 },
        { rate: 600, ms: 20 * Math.exp(1.2 ** 2 / 2) },
      ]),
  }),
  // One operation in twenty calls a search service over ten sockets, 30 ms. From 15 to 35 s it takes 3 s, and 3.3 of
  // 10/s are answered. The others hold one of twenty connections for 10 ms and are unaffected. Requests that wait for
  // the search service are 1.5 % of all, so no request need be shed: the ideal is all the others. A limiter that
  // these few mislead sheds seventeen of twenty requests.
  scarce('search, one request in twenty, takes 3 s instead of 30 ms for 20 s', {
    workload: {
      ...onePath(
        '/graphql',
        { perSecond: 190, steps: () => holds('db', 10) },
        { perSecond: 10, steps: () => holds('search', nowMs => (searchIsSlow(nowMs) ? 3000 : 30)) },
      ),
      pools: { db: 20, search: 10 },
    },
    seconds: 60,
    ideal: s => (s >= 14 && s < 36 ? 190 : 200),
    changesAt: [15, 35],
  }),
  // Two operations share a pool of ten: lookups of 10 ms, 320/s, and exports of 200 ms, 80/s: 1.92x. The ideal is
  // uniform admission.
  scarce('lookups of 10 ms and exports of 200 ms share a pool, 1.9x', {
    workload: {
      ...onePath(
        '/rpc',
        { perSecond: 320, steps: () => holds('db', 10) },
        { perSecond: 80, steps: () => holds('db', 200) },
      ),
      pools: { db: 10 },
    },
    seconds: 40,
    ideal: () =>
      uniformly(10, [
        { rate: 320, ms: 10 },
        { rate: 80, ms: 200 },
      ]),
  }),
  // A GraphQL server with a login mutation: scrypt takes one of libuv's four threads for 60 ms, 67/s. 333/s arrive, 5x,
  // next to 300/s that burn 0.5 ms on the loop. The ideal is a fifth of both, 127/s. Without admission the 300 are in
  // time and no login is ever answered.
  scarce('logins on four threads at 5x beside 300/s of 0.5 ms', {
    workload: {
      ...onePath(
        '/graphql',
        { perSecond: 300, steps: () => burns(0.5) },
        { perSecond: 333, steps: () => holds('threads', 60) },
      ),
      pools: { threads: 4 },
    },
    seconds: 40,
    ideal: () =>
      uniformly(4, [
        { rate: 300, ms: 0 },
        { rate: 333, ms: 60 },
      ]),
  }),
  // A hundred tenants behind one gateway, so that clients cannot be told apart. The queries of one tenant burn a
  // hundred times the CPU of the others: 30/s of 80 ms next to 300/s of 0.8 ms, 2.7x. The ideal is uniform admission: a
  // third of all.
  scarce("one tenant's queries cost 100 times the others', 2.7x of the core", {
    workload: onePath('/query', { perSecond: 300, steps: () => burns(0.8) }, { perSecond: 30, steps: () => burns(80) }),
    seconds: 40,
    ideal: () =>
      uniformlyOfCore([
        { rate: 300, ms: 0.8 },
        { rate: 30, ms: 80 },
      ]),
  }),
]

export const MIXED: readonly Scenario[] = [...ENOUGH, ...SCARCE]
