/**
 * The workloads that bench/evidence.ts sends to real servers: cases in which one path has requests of many costs, and
 * loads that a server carries without admission.
 */
import type { Asked, OutcomeCounts } from './evidence-load.ts'

export interface EvidenceWorkload {
  readonly what: string
  readonly over?: 'http1' | 'http2'
  /** Connections of the server's pool. @default 10 */
  readonly pool?: number
  /** Hashes per second that the thread pool can do. The server finds the number of PBKDF2 rounds for this. */
  readonly threadsPerSecond?: number
  /** The server shares one core with this number of busy processes. */
  readonly busyNeighbours?: number
  /** Other work keeps the event loop of the server busy all the time, in pieces of this length, ms. @default 0: none */
  readonly otherWorkMs?: number
  /** The other work starts this long after the server, ms. @default 0 */
  readonly otherWorkFromMs?: number
  readonly asked: (seconds: number, rounds: number) => readonly Asked[]
  /** @default 15, and 6 in a quick run */
  readonly seconds?: readonly [full: number, quick: number]
  /**
   * What the protected server must achieve in the sum of all rounds. `met` is undefined when the machine was too busy.
   */
  readonly bar: string
  readonly met: (mine: Outcome, bare: Outcome) => boolean | undefined
}

export interface Outcome {
  readonly seconds: number
  readonly became: Readonly<Record<string, OutcomeCounts>>
  readonly all: OutcomeCounts
}

const open = (name: string, path: string, work: string, perSecond: number, toMs: number, ownMs: number): Asked => ({
  ...{ name, path, work, perSecond, toMs, ownMs },
  fromMs: 0,
})
/** Like {@link open}, but it begins later. */
const openFrom = (fromMs: number, ...asked: Parameters<typeof open>): Asked => ({ ...open(...asked), fromMs })
const noneShed = ({ all }: Outcome): boolean => all.shed === 0 && all.failed === 0
const lateShare = ({ all }: Outcome): number => all.late / all.offered
const NONE_SHED = 'no request shed'
const NONE_MAY_BE_SHED: Pick<EvidenceWorkload, 'bar' | 'met'> = { bar: NONE_SHED, met: noneShed }
const NONE_SHED_WHERE_BARE_IS_IN_TIME: Pick<EvidenceWorkload, 'bar' | 'met'> = {
  bar: `${NONE_SHED}, where bare answers 99 % in time`,
  met: (mine, bare) => (bare.all.good < 0.99 * bare.all.offered ? undefined : noneShed(mine)),
}
const NONE_SHED_WHERE_BARE_IS_QUICK: Pick<EvidenceWorkload, 'bar' | 'met'> = {
  bar: `${NONE_SHED}, where bare answers within 2.2 s`,
  met: (mine, bare) => (bare.all.slowestMs > 2200 ? undefined : noneShed(mine)),
}
const goodShare = ({ became }: Outcome, name: string): number => became[name]!.good / became[name]!.offered
const CHEAP_AS_BARE = 'the cheap route at most 2 points below bare'
const cheapAsBare = (mine: Outcome, bare: Outcome): boolean =>
  goodShare(mine, 'cheap') >= goodShare(bare, 'cheap') - 0.02
const perSecond = ({ became, seconds }: Outcome, name: string): number => became[name]!.good / seconds
/** True if bare answered its hits in time, so that the core was available. */
const hitsInTime = (bare: Outcome): boolean => perSecond(bare, 'hits') >= 285

/** 200 requests/s that burn 0.2 ms of CPU, and `heavyPerSecond` that burn 20 ms, in twenty turns of the loop. */
const besideHeavy = (heavyPerSecond: number): Pick<EvidenceWorkload, 'what' | 'asked'> => ({
  what: `200/s of 0.2 ms of CPU beside ${heavyPerSecond}/s of 20 ms of CPU, paths of their own`,
  asked: seconds => [
    open('heavy', '/heavy', 'steps 20', heavyPerSecond, seconds * 1000, 20),
    open('cheap', '/cheap', 'burn 0.2', 200, seconds * 1000, 0),
  ],
})

/** `perSecond` requests per second that wait 20 ms, and the same number that wait 400 ms. */
const quickAndSlow =
  (perSecond: number) =>
  (seconds: number): Asked[] => [
    open('quick', '/quick', 'wait 20', perSecond, seconds * 1000, 20),
    open('slow', '/slow', 'wait 400', perSecond, seconds * 1000, 400),
  ]

/** A burst on a service that is otherwise idle, after 5 requests per second for 2 s. */
const burst = (jobs: number, kind: 'threads' | 'pool'): EvidenceWorkload => ({
  what:
    kind === 'threads'
      ? `${jobs} jobs at once on the thread pool at 135/s, at rest`
      : `${jobs} jobs of 50 ms at once on a pool of 4, at rest`,
  ...(kind === 'threads' ? { threadsPerSecond: 135 } : { pool: 4 }),
  asked: (_, rounds) => {
    const work = kind === 'threads' ? `threads ${rounds}` : 'pool 50'
    return [
      { ...open('before', '/thumbnail', work, 5, 2000, 50) },
      { name: 'burst', path: '/thumbnail', work, ownMs: 50, fromMs: 2500, clients: jobs, requests: 1 },
    ]
  },
  ...NONE_SHED_WHERE_BARE_IS_QUICK,
})

const atOnce = (clients: number, over: 'http1' | 'http2'): EvidenceWorkload => ({
  what: `${clients} clients at once over ${over === 'http1' ? 'HTTP/1.1' : 'HTTP/2'}, three requests each, handlers that wait 2.5 s`,
  over,
  asked: () => [{ name: 'all', path: '/report', work: 'wait 2500', ownMs: 2500, fromMs: 500, clients, requests: 3 }],
  ...NONE_MAY_BE_SHED,
})

export const EVIDENCE: Readonly<Record<string, EvidenceWorkload>> = {
  strangled: {
    what: 'ten quick calls of /rpc, then 17 on it that wait 5 s, then 100 of /ping',
    asked: () => [
      open('quick', '/rpc', '', 50, 200, 0),
      { name: 'slow', path: '/rpc', work: 'wait 5000', ownMs: 5000, fromMs: 500, clients: 17, requests: 1 },
      openFrom(1000, 'ping', '/ping', '', 25, 5000, 0),
    ],
    ...NONE_MAY_BE_SHED,
  },
  resolver: {
    what: 'GraphQL: 50/s of {hello}, and 20 users of a resolver that waits 5 s, one path',
    asked: seconds => [
      open('hello', '/graphql', '', 50, seconds * 1000, 0),
      {
        ...{ name: 'resolver', path: '/graphql', work: 'wait 5000', ownMs: 5000, fromMs: 2000 },
        ...{ clients: 20, requests: Math.max(1, Math.floor(seconds / 5) - 1) },
      },
    ],
    ...NONE_MAY_BE_SHED,
  },
  reconnect: {
    what: '100 clients reconnect at once by polling: a handshake, then polls that wait 5 s; 20/s of short posts',
    asked: seconds => [
      open('posts', '/socket.io/', '', 20, seconds * 1000, 0),
      {
        ...{ name: 'clients', path: '/socket.io/', work: 'wait 5000', firstWork: 'burn 1', ownMs: 5000 },
        ...{ fromMs: 2000, clients: 100, requests: 3 },
      },
    ],
    ...NONE_MAY_BE_SHED,
  },
  slowed: {
    what: '200/s that wait 20 ms, then 200/s that wait 2.5 s, one path',
    asked: seconds => [
      open('quick', '/upstream', 'wait 20', 200, 4000, 20),
      openFrom(4000, 'slow', '/upstream', 'wait 2500', 200, seconds * 1000, 2500),
    ],
    ...NONE_MAY_BE_SHED,
  },
  poisoned: {
    what: '20 answers of 401, then 150/s that wait 2 s, one path',
    asked: seconds => [
      open('refused', '/v1', 'refuse 401', 100, 200, 0),
      openFrom(500, 'answers', '/v1', 'wait 2000', 150, seconds * 1000, 2000),
    ],
    ...NONE_MAY_BE_SHED,
  },
  dripped: {
    what: '2/s of 401 beside 40/s that wait 5 s, one path',
    asked: seconds => [
      open('refused', '/v1', 'refuse 401', 2, seconds * 1000, 0),
      open('answers', '/v1', 'wait 5000', 40, seconds * 1000, 5000),
    ],
    ...NONE_MAY_BE_SHED,
  },
  flooded: {
    what: 'a cache on one path: 300/s of hits that burn 2 ms, 300/s of misses over a pool of 10 of 100 ms',
    seconds: [40, 12],
    asked: seconds => [
      open('hits', '/page', 'burn 2', 300, seconds * 1000, 2),
      open('misses', '/page', 'pool 100', 300, seconds * 1000, 100),
    ],
    bar: '190/s in time, at most 3 % late, where bare has 285/s of hits in time',
    met: (mine, bare) =>
      (mine.all.good / mine.seconds >= 190 && lateShare(mine) <= 0.03) || (hitsInTime(bare) ? false : undefined),
  },
  'flooded-two': {
    what: 'the same cache on two paths',
    seconds: [40, 12],
    asked: seconds => [
      open('hits', '/hit', 'burn 2', 300, seconds * 1000, 2),
      open('misses', '/miss', 'pool 100', 300, seconds * 1000, 100),
    ],
    bar: '297/s of hits and 95/s of misses in time, at most 3 % late, where bare has 285/s of hits in time',
    met: (mine, bare) =>
      (perSecond(mine, 'hits') >= 297 && perSecond(mine, 'misses') >= 95 && lateShare(mine) <= 0.03) ||
      (hitsInTime(bare) ? false : undefined),
  },
  'burst-150': burst(150, 'threads'),
  'burst-180': burst(180, 'threads'),
  'burst-240': burst(240, 'threads'),
  'burst-pool': burst(150, 'pool'),
  threads: {
    what: 'the thread pool at 5x of 100/s, and a cheap route of 100/s',
    threadsPerSecond: 100,
    asked: (seconds, rounds) => [
      open('hashes', '/hash', `threads ${rounds}`, 500, seconds * 1000, 20),
      open('cheap', '/cheap', '', 100, seconds * 1000, 0),
    ],
    bar: `${CHEAP_AS_BARE}, at most 3 % late`,
    met: (mine, bare) => cheapAsBare(mine, bare) && lateShare(mine) <= 0.03,
  },
  starved: {
    what: '300/s that wait 300 ms beside three busy processes on the same core',
    busyNeighbours: 3,
    asked: seconds => [open('quotes', '/quote', 'wait 300', 300, seconds * 1000, 300)],
    ...NONE_SHED_WHERE_BARE_IS_IN_TIME,
  },
  connects: {
    what: '200 new clients at once on an idle cold process, 1 ms each, beside three busy processes on its core',
    busyNeighbours: 3,
    asked: () => [{ name: 'all', path: '/', work: 'burn 1', ownMs: 1, fromMs: 1500, clients: 200, requests: 1 }],
    ...NONE_SHED_WHERE_BARE_IS_QUICK,
  },
  'other-work': {
    what: '100/s that wait 100 ms, in a process whose other work, in pieces of 5 ms, never ends',
    otherWorkMs: 5,
    asked: seconds => [open('quotes', '/quote', 'wait 100', 100, seconds * 1000, 100)],
    ...NONE_SHED_WHERE_BARE_IS_IN_TIME,
  },
  'other-work-uneven': {
    what: '40/s that wait 20 ms and 40/s that wait 400 ms, in a process whose other work, in pieces of 20 ms, never ends',
    otherWorkMs: 20,
    asked: quickAndSlow(40),
    ...NONE_SHED_WHERE_BARE_IS_IN_TIME,
  },
  'other-work-later': {
    what: '50/s that wait 20 ms and 50/s that wait 400 ms; after two seconds other work, in pieces of 10 ms, never ends',
    otherWorkMs: 10,
    otherWorkFromMs: 2000,
    asked: quickAndSlow(50),
    ...NONE_SHED_WHERE_BARE_IS_IN_TIME,
  },
  'other-work-long': {
    what: '10/s of 10 ms of CPU; after three seconds other work, in pieces of 300 ms, never ends',
    otherWorkMs: 300,
    otherWorkFromMs: 3000,
    asked: seconds => [open('all', '/', 'burn 10', 10, seconds * 1000, 10)],
    seconds: [25, 15],
    ...NONE_SHED_WHERE_BARE_IS_QUICK,
  },
  'beside-heavy': {
    ...besideHeavy(42),
    bar: CHEAP_AS_BARE,
    met: cheapAsBare,
  },
  'beside-heavy-3x': {
    ...besideHeavy(130),
    bar: `${CHEAP_AS_BARE}, 25/s of the heavy one in time, at most 3 % late`,
    met: (mine, bare) => cheapAsBare(mine, bare) && perSecond(mine, 'heavy') >= 25 && lateShare(mine) <= 0.03,
  },
  'flood-of-quick': {
    what: '3,000/s of 0.2 ms of CPU beside 20/s of 20 ms of CPU, paths of their own',
    asked: seconds => [
      open('heavy', '/heavy', 'steps 20', 20, seconds * 1000, 20),
      open('flood', '/flood', 'burn 0.2', 3000, seconds * 1000, 0),
    ],
    bar: '15/s of the heavy ones in time, and at least as many of the others as bare',
    met: (mine, bare) => perSecond(mine, 'heavy') >= 15 && goodShare(mine, 'flood') >= goodShare(bare, 'flood'),
  },
  'cold-start': {
    what: '1,000/s of 5 ms of CPU in five turns of the loop, from a cold start',
    seconds: [6, 4],
    asked: seconds => [open('pages', '/page', 'steps 5', 1000, seconds * 1000, 5)],
    bar: '120/s in time, at most 3 % late',
    met: mine => perSecond(mine, 'pages') >= 120 && lateShare(mine) <= 0.03,
  },
  uploads: {
    what: '20/s of uploads of 3 s, then 50 ms of a pool of 10, beside 100/s of quick ones, one path',
    asked: seconds => [
      { ...open('uploads', '/photos', 'pool 50', 20, seconds * 1000, 3050), uploadMs: 3000 },
      open('quick', '/photos', '', 100, seconds * 1000, 0),
    ],
    ...NONE_MAY_BE_SHED,
  },
  'uploads-beside': {
    what: 'a pool of 10 of 50 ms at 3x beside 10/s of uploads of 3 s, one path',
    asked: seconds => [
      { ...open('uploads', '/photos', '', 10, seconds * 1000, 3000), uploadMs: 3000 },
      open('reads', '/photos', 'pool 50', 600, seconds * 1000, 50),
    ],
    bar: '180/s of reads in time, at most 3 % late',
    met: mine => perSecond(mine, 'reads') >= 180 && lateShare(mine) <= 0.03,
  },
  'at-once-500': atOnce(500, 'http1'),
  'at-once-2000': atOnce(2000, 'http1'),
  'at-once-500-http2': atOnce(500, 'http2'),
  'at-once-2000-http2': atOnce(2000, 'http2'),
}
