/** The workloads of the scoreboard: what a request costs, and the load. apps/overload/work.js does the work. */
import type { LoadShape } from '../../melt/scenario.ts'

export interface Workload extends LoadShape {
  readonly title: string
  /** One sentence: what a request costs, and where. */
  readonly story: string
  /** May contain `{{word}}`, which differs in each request. @default '/' */
  readonly path?: string
  /** `cpu`: a shed takes time from the work. `waiting`: the work happens elsewhere, and sheds use idle CPU. */
  readonly bound: 'cpu' | 'waiting'
  /** Only the second route counts: the load itself is hostile, or cannot be goodput. */
  readonly countsBeside?: true
  /** The only useful loads for this workload, as multiples of the capacity. */
  readonly loads?: readonly number[]
  /** Length of a step up to the end of its window, if not the usual one, ms. */
  readonly durationMs?: number
  /** When clients give up, ms. */
  readonly timeoutMs?: number
  readonly needsPostgres?: true
  readonly headers?: Readonly<Record<string, string>>
  /** Available share of the capacity, if something is unavailable for part of the time. @default 1 */
  readonly available?: number
  /** Wall time of a shed, and of the work, as a multiple of its CPU time. @default 1 */
  readonly slowdown?: number
  /** By the arm's name: why it has more goodput and a lower p99 than meltproof in a published row. */
  readonly ahead?: Readonly<Record<string, string>>
}

/** Why HAProxy with a guessed `maxconn` is ahead where requests use CPU, and where they wait for a pool. */
const OTHER_CORE =
  'HAProxy rejects in a process of its own, on the core of the load generator, so a rejection costs the app nothing, and ' +
  '`maxconn 10` happens to suit this app.'
const SIZE_OF_THE_POOL =
  'The guess, `maxconn 10`, is the size of the pool, and applies from the first request on; meltproof learns a limit only ' +
  'once requests wait for each other.'

export const WORKLOADS: Readonly<Record<string, Workload>> = {
  steps: {
    title: '5 ms of CPU in five steps',
    story: 'Every request burns 5 ms of CPU over five asynchronous calls.',
    bound: 'cpu',
    ahead: { 'haproxy-guessed': OTHER_CORE },
  },
  neighbour: {
    title: 'half of the core taken by a neighbour',
    story:
      'As 5 ms of CPU in five steps, while a process that never rests takes half of the core. The capacity is that of the ' +
      'other half; a shed takes twice its CPU, as the work does.',
    bound: 'cpu',
    slowdown: 2,
    ahead: { 'haproxy-guessed': OTHER_CORE },
  },
  quick: {
    title: '0.2 ms of CPU at once',
    story: 'Every request burns 0.2 ms of CPU: about ten times what it costs to turn one away.',
    bound: 'cpu',
    loads: [0.5, 0.7, 1, 2, 4],
  },
  sync: {
    title: '20 ms of CPU at once',
    story: 'Every request burns 20 ms of CPU without letting the loop turn.',
    bound: 'cpu',
  },
  database: {
    title: 'a database pool',
    story: 'Every request runs `select pg_sleep(0.05)` on PostgreSQL through a `pg` pool of 10 connections.',
    bound: 'waiting',
    needsPostgres: true,
    ahead: { 'haproxy-guessed': SIZE_OF_THE_POOL },
  },
  pool: {
    title: 'a simulated pool',
    story: 'Every request holds one of 10 places for 50 ms of waiting.',
    bound: 'waiting',
    ahead: { 'haproxy-guessed': SIZE_OF_THE_POOL },
  },
  mixed: {
    title: 'cheap and heavy routes',
    story:
      '`/heavy` burns 20 ms of CPU in four steps; the load is multiples of its capacity. `/cheap` costs 0.2 ms and is ' +
      'asked 200 times a second beside it, at every load; what it uses of the core is not taken off the ideal of `/heavy`. ' +
      'Neither route is announced as more important.',
    path: '/heavy',
    bound: 'cpu',
    beside: { path: '/cheap', rate: 200 },
  },
  'random-paths': {
    title: 'random paths beside an honest route',
    story:
      'As 5 ms of CPU in five steps, whatever the path. The load asks for a path of its own in every request; beside it ' +
      '`/orders` is asked 80 times a second, which is less than half of the core.',
    path: '/{{word}}',
    capacityPath: '/orders',
    bound: 'cpu',
    beside: { path: '/orders', rate: 80 },
    countsBeside: true,
  },
  tail: {
    title: 'one request in ten takes 10 s',
    story:
      'Nine requests in ten burn 5 ms of CPU over five calls, the tenth waits 10 s for something else and is never ' +
      'goodput. Clients wait 11 s. The capacity is that of the nine.',
    capacityPath: '/quick',
    goodShare: 0.9,
    bound: 'cpu',
    timeoutMs: 11_000,
    ahead: {
      'overload-protection':
        'overload-protection looks at event loop delay only, to which requests that wait add nothing. The p99 is that of ' +
        'the slow tenth, 10 s in every arm.',
    },
  },
  waiting: {
    title: 'handlers that only wait',
    story:
      'Every request waits 5 s for a service without a limit, at 40 and at 200 requests a second; `/health` gets 10 a ' +
      'second at the same time. Nothing is scarce: no request should be shed, or wait for a permit.',
    path: '/gateway',
    bound: 'waiting',
    // Answers take longer than the SLO, so only sheds and the second route count.
    available: 0,
    capacity: 1,
    loads: [40, 200],
    beside: { path: '/health', rate: 10 },
    countsBeside: true,
    durationMs: 12_000,
    timeoutMs: 11_000,
  },
  render: {
    title: 'server-side rendering',
    story: 'Every request renders a page of 150 products with React (`renderToString`).',
    bound: 'cpu',
  },
  stalls: {
    title: 'false sheds: a 200 ms stall every 5 s at 70 % load',
    story: 'As 5 ms of CPU in five steps; every 5 s the loop stands still for 200 ms. Nothing should be shed.',
    capacityPath: '/',
    bound: 'cpu',
    loads: [0.7],
    durationMs: 20_000,
  },
  impatient: {
    title: 'a simulated pool, clients that leave after half a second',
    story:
      'As a simulated pool. Clients leave after 500 ms; what they asked for goes on, and holds its place in the pool.',
    bound: 'waiting',
    timeoutMs: 500,
  },
  outage: {
    title: 'a pool that gives no answer for five of twenty seconds, clients leave after half a second',
    story:
      'A simulated pool gives no answer from the fourth second to the ninth. Requests of that time are lost; the figures ' +
      'show how soon the service recovers.',
    path: '/outage',
    capacityPath: '/',
    bound: 'waiting',
    loads: [0.8, 3],
    durationMs: 20_000,
    timeoutMs: 500,
    available: 14 / 19,
  },
  forged: {
    title: 'a simulated pool, and callers that forge a deadline of a millisecond',
    story:
      'As a simulated pool, protected with `deadlineMs: 3000`. The load says in `x-envoy-expected-rq-timeout-ms` that it ' +
      'waits for 1 ms, and is never goodput; 80 honest requests a second are asked beside it.',
    capacityPath: '/',
    bound: 'waiting',
    headers: { 'x-envoy-expected-rq-timeout-ms': '1' },
    beside: { path: '/honest', rate: 80 },
    countsBeside: true,
    loads: [0.7, 2, 10],
  },
}

export const LOADS: readonly number[] = [0.7, 0.9, 1, 2, 6, 10, 40, 100, 300]

export const ARMS = [
  'bare',
  'toobusy-js',
  'under-pressure',
  'under-pressure-readme',
  'overload-protection',
  'haproxy-guessed',
  'haproxy-agent',
  'meltproof',
] as const
export type ArmName = (typeof ARMS)[number]

/** Arms in which meltproof decides, so that they are no rivals. */
export const OURS: readonly string[] = ['meltproof', 'haproxy-agent'] satisfies ArmName[]

/** Standing connections, or a new one for each request. */
export const MODES = ['standing', 'fresh'] as const
export type Mode = (typeof MODES)[number]
