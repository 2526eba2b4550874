/**
 * The table of metrics. Prometheus and OpenTelemetry are both made from it, and a test compares it with docs/metrics.md:
 * to add a metric, add an entry here and its line there.
 */
import { now } from '../clock.ts'
import { type LimiterFigures, namedLimiters, namedPools } from '../named-figures.ts'
import {
  LEFT,
  type LogLossRecord,
  type RequestRecord,
  type Shares,
  type ShedRecord,
  type StallRecord,
  type Verdict,
} from '../record.ts'
import { namedStalls } from '../signals/named-stalls.ts'
import type { CallTimeline } from '../timing/call-timeline.ts'
import type { EventLoop } from './event-loop.ts'
import type { Aggregator } from './instruments.ts'
import type { LabelName, Labels } from './labels.ts'
import type { LoopDelay } from './recent-delays.ts'

type GuardGauge =
  | 'inflight'
  | 'stragglers'
  | 'abandoned'
  | 'queued'
  | 'limit'
  | 'pressure'
  | 'utilisation'
  | 'demand'
  | 'load'
  | 'lanes'
type GuardCounter = 'admitted' | 'exempt' | 'left'
type GuardState = 'dryRun' | 'draining' | 'limitKnown'

/** What metrics read of a Guard. */
export interface GuardLike {
  stats(): Readonly<Record<GuardGauge | GuardCounter, number>> &
    Readonly<Record<GuardState, boolean>> & { readonly shed: Readonly<Record<string, number>> }
  /** It stands for every guard of the process. */
  readonly ofAll?: true
  /** Where some of those are dry runs and some are not: of each sort. @default those of `stats()` */
  sheds?(): readonly { readonly dryRun: boolean; readonly shed: Readonly<Record<string, number>> }[]
}

/** What an event adds to one series of a metric. */
export interface Feed<E> {
  /** Labels that are the same for all events; the metric's others come from the event. */
  readonly labels?: Labels
  /** Only by events that took `slowMs` or more. */
  readonly bySlow?: true
  /** Undefined adds nothing. */
  readonly value: (event: E) => number | undefined
}

/** A metric is fed by events, or read when somebody collects. */
export interface Metric {
  readonly prometheus: string
  readonly otel: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly unit: string
  readonly help: string
  readonly labels?: readonly LabelName[]
  /** Of a gauge: what the workers of a cluster make of it together. @default 'sum' */
  readonly aggregator?: Aggregator
  /** Of a histogram: each bucket names a trace where the format has room for it. */
  readonly exemplars?: true
  readonly request?: readonly Feed<RequestRecord>[]
  readonly shed?: readonly Feed<ShedRecord>[]
  readonly call?: readonly Feed<CallTimeline>[]
  readonly stall?: readonly Feed<StallRecord>[]
  readonly logLoss?: readonly Feed<LogLossRecord>[]
  readonly loopDelay?: readonly Feed<number>[]
  readonly read?: (guard: GuardLike, loop: EventLoop) => readonly (readonly [Labels, number])[]
}

const VERDICTS: readonly Verdict[] = ['loop', 'dependency', 'network', 'self']

/** The four shares, in seconds. */
const SHARES: readonly Feed<{ readonly shares: Shares }>[] = [
  { labels: { part: 'loop' }, value: ({ shares }) => shares.loopMs / 1000 },
  { labels: { part: 'dependency' }, value: ({ shares }) => shares.dependencyMs / 1000 },
  { labels: { part: 'network' }, value: ({ shares }) => shares.networkMs / 1000 },
  { labels: { part: 'self' }, value: ({ shares }) => shares.selfMs / 1000 },
]

const SLOW: readonly Feed<{ readonly verdict: Verdict }>[] = VERDICTS.map(verdict => ({
  labels: { verdict },
  bySlow: true,
  value: event => (event.verdict === verdict ? 1 : undefined),
}))

const REQUESTS: readonly Metric[] = [
  {
    prometheus: 'http_server_request_duration_seconds',
    otel: 'http.server.request.duration',
    kind: 'histogram',
    unit: 's',
    help: 'From the parsed head of a request until its answer had left, or until it was turned away.',
    labels: ['method', 'scheme', 'status', 'error', 'route'],
    exemplars: true,
    request: [{ value: ({ totalMs }) => totalMs / 1000 }],
    shed: [{ value: ({ waitedMs }) => waitedMs / 1000 }],
  },
  {
    prometheus: 'meltproof_request_share_seconds_total',
    otel: 'meltproof.request.share',
    kind: 'counter',
    unit: 's',
    help: 'Time of requests by whose it was: loop, dependency, network, self.',
    labels: ['route', 'part'],
    request: SHARES,
  },
  {
    prometheus: 'meltproof_queue_wait_seconds',
    otel: 'meltproof.queue_wait',
    kind: 'histogram',
    unit: 's',
    help: 'How long requests waited at the gate, of those that waited for a millisecond or more; part of self.',
    labels: ['outcome'],
    request: [{ labels: { outcome: 'admitted' }, value: ({ queuedMs }) => waitS(queuedMs) }],
    shed: [
      { labels: { outcome: 'shed' }, value: ({ reason, waitedMs }) => (reason === LEFT ? undefined : waitS(waitedMs)) },
      { labels: { outcome: LEFT }, value: ({ reason, waitedMs }) => (reason === LEFT ? waitS(waitedMs) : undefined) },
    ],
  },
  {
    prometheus: 'meltproof_request_late_seconds_total',
    otel: 'meltproof.request.late',
    kind: 'counter',
    unit: 's',
    help: 'Time requests may have lain unread in their sockets while the loop was stalled; part of loop.',
    request: [{ value: ({ lateMs }) => lateMs / 1000 }],
  },
  {
    prometheus: 'meltproof_slow_requests_total',
    otel: 'meltproof.slow_requests',
    kind: 'counter',
    unit: '{request}',
    help: 'Slow requests by who was slow.',
    labels: ['verdict'],
    request: SLOW,
  },
]

const CALLS: readonly Metric[] = [
  {
    prometheus: 'http_client_request_duration_seconds',
    otel: 'http.client.request.duration',
    kind: 'histogram',
    unit: 's',
    help: 'Wall time of HTTP calls to others, as this process saw it.',
    labels: ['method', 'address', 'port', 'status', 'error'],
    call: [{ value: ({ wallMs }) => wallMs / 1000 }],
  },
  {
    prometheus: 'meltproof_dependency_duration_seconds',
    otel: 'meltproof.dependency.duration',
    kind: 'histogram',
    unit: 's',
    help: 'What calls took at the peer, without our stalls, our queues and the network.',
    labels: ['peer'],
    call: [{ value: ({ dependencyMs }) => dependencyMs.best / 1000 }],
  },
  {
    prometheus: 'meltproof_call_share_seconds_total',
    otel: 'meltproof.call.share',
    kind: 'counter',
    unit: 's',
    help: 'Time of calls to others by whose it was: loop, dependency, network, self.',
    labels: ['peer', 'part'],
    call: SHARES,
  },
  {
    prometheus: 'meltproof_slow_calls_total',
    otel: 'meltproof.slow_calls',
    kind: 'counter',
    unit: '{call}',
    help: 'Slow calls to others by who was slow.',
    labels: ['peer', 'verdict'],
    call: SLOW,
  },
  {
    prometheus: 'meltproof_calls_total',
    otel: 'meltproof.calls',
    kind: 'counter',
    unit: '{call}',
    help: 'Calls to others by how they ended.',
    labels: ['peer', 'outcome'],
    call: [{ value: () => 1 }],
  },
]

const GUARD: readonly Metric[] = [
  guardGauge('inflight', '{request}', 'Requests in service that hold a permit. A mere stream may hold none.'),
  guardGauge(
    'stragglers',
    '{request}',
    'Requests in service that take far longer than others, and that the limit does not count.',
  ),
  guardGauge('abandoned', '{request}', 'Requests in service whose client has left or was told 504.'),
  guardGauge('queued', '{request}', 'Requests waiting at the gate.'),
  guardGauge('limit', '{request}', 'How many requests may be in service at once, as learned so far.'),
  { ...guardGauge('pressure', '1', '0: every request starts at once; 1: every one is shed.'), aggregator: 'max' },
  {
    ...guardGauge(
      'utilisation',
      '1',
      'The larger of the busy share of the loop and in service over the limit, 0 to 1.',
    ),
    prometheus: 'meltproof_utilisation_ratio',
    aggregator: 'average',
  },
  {
    ...guardGauge(
      'demand',
      '1',
      'Offered over admitted: 1 while nobody is shed, 3 when three such instances would do.',
    ),
    prometheus: 'meltproof_demand_ratio',
    aggregator: 'average',
  },
  {
    ...guardGauge('load', '1', 'Utilisation times demand: 1 at capacity, 3 when three such instances would do.'),
    prometheus: 'meltproof_load_ratio',
    aggregator: 'average',
  },
  guardGauge('lanes', '{socket}', 'Listening sockets.'),
  guardState('dry_run', 'dryRun', '1: nobody is shed, and sheds are only counted.'),
  guardState('limit_known', 'limitKnown', '1: the limit was set or found, 0: nothing has needed one yet.'),
  guardState('draining', 'draining', '1: the server is being shut down.'),
  guardCounter('admitted', 'Requests admitted.'),
  guardCounter('exempt', 'Exempt requests.'),
  guardCounter('left', 'Requests whose client left while they waited at the gate.'),
  {
    prometheus: 'meltproof_shed_total',
    otel: 'meltproof.shed',
    kind: 'counter',
    unit: '{request}',
    help: 'Requests shed, by reason; in a dry run those that would have been.',
    labels: ['reason', 'dryRun'],
    read: guard => {
      const sheds = guard.sheds?.() ?? [guard.stats()]
      return sheds.flatMap(({ dryRun, shed }) =>
        Object.entries(shed).map(([reason, count]) => [{ reason, dryRun: String(dryRun) }, count] as const),
      )
    },
  },
]

const LIMITERS: readonly Metric[] = [
  limiterFigure('inflight', '{run}', 'Runs in service that hold a permit, of each limiter() with a name.'),
  limiterFigure('queued', '{run}', 'Runs waiting for a permit.'),
  limiterFigure('limit', '{run}', 'How many runs may be in service at once, as learned so far.'),
  { ...limiterFigure('pressure', '1', '0: every run starts at once; 1: every one is shed.'), aggregator: 'max' },
  {
    prometheus: 'meltproof_limiter_admitted_total',
    otel: 'meltproof.limiter.admitted',
    kind: 'counter',
    unit: '{run}',
    help: 'Runs admitted.',
    labels: ['limiter'],
    read: () => ofLimiters(({ admitted }, limiter) => [[{ limiter }, admitted]]),
  },
  {
    prometheus: 'meltproof_limiter_shed_total',
    otel: 'meltproof.limiter.shed',
    kind: 'counter',
    unit: '{run}',
    help: 'Runs shed, by reason.',
    labels: ['limiter', 'reason'],
    read: () =>
      ofLimiters(({ shed }, limiter) => Object.entries(shed).map(([reason, count]) => [{ limiter, reason }, count])),
  },
]

/** As OpenTelemetry names them (semantic conventions of database clients). */
const POOLS: readonly Metric[] = [
  {
    prometheus: 'db_client_connection_count',
    otel: 'db.client.connection.count',
    kind: 'gauge',
    unit: '{connection}',
    help: 'Connections of bound database pools that are lent to the app.',
    labels: ['pool', 'poolState'],
    read: () => namedPools().map(({ name, used }) => [{ pool: name, poolState: 'used' }, used]),
  },
  {
    prometheus: 'db_client_connection_max',
    otel: 'db.client.connection.max',
    kind: 'gauge',
    unit: '{connection}',
    help: 'Connections that these pools may have.',
    labels: ['pool'],
    read: () => namedPools().flatMap(({ name, most }) => (Number.isFinite(most) ? [[{ pool: name }, most]] : [])),
  },
  {
    prometheus: 'db_client_connection_pending_requests',
    otel: 'db.client.connection.pending_requests',
    kind: 'gauge',
    unit: '{request}',
    help: 'Callers that wait for one of their connections.',
    labels: ['pool'],
    read: () => namedPools().map(({ name, waiting }) => [{ pool: name }, waiting]),
  },
]

const PROCESS: readonly Metric[] = [
  {
    prometheus: 'meltproof_stalls_total',
    otel: 'meltproof.stalls',
    kind: 'counter',
    unit: '{stall}',
    help: 'Stalls of the event loop.',
    stall: [{ value: () => 1 }],
  },
  {
    prometheus: 'meltproof_stalled_seconds_total',
    otel: 'meltproof.stalled',
    kind: 'counter',
    unit: 's',
    help: 'How long these stalls were together.',
    stall: [{ value: ({ fromMs, toMs }) => (toMs - fromMs) / 1000 }],
  },
  {
    prometheus: 'meltproof_stall_seconds_total',
    otel: 'meltproof.stall',
    kind: 'counter',
    unit: 's',
    help: 'How long the loop stood still, by the place in the code that held it; none unless stalls are named.',
    labels: ['place'],
    read: () => Object.entries(namedStalls()?.seconds() ?? {}).map(([place, seconds]) => [{ place }, seconds]),
  },
  {
    prometheus: 'meltproof_log_lines_lost_total',
    otel: 'meltproof.log.lines_lost',
    kind: 'counter',
    unit: '{line}',
    help: 'Log lines given up because they were not read in time.',
    labels: ['stream'],
    logLoss: perStream(({ lines }) => lines),
  },
  {
    prometheus: 'meltproof_log_bytes_lost_total',
    otel: 'meltproof.log.bytes_lost',
    kind: 'counter',
    unit: 'By',
    help: 'Bytes of these lines.',
    labels: ['stream'],
    logLoss: perStream(({ bytes }) => bytes),
  },
  {
    prometheus: 'meltproof_loop_delay_seconds',
    otel: 'meltproof.loop_delay',
    kind: 'histogram',
    unit: 's',
    help: 'How long something due waited for the event loop; one observation for every 10 ms.',
    loopDelay: [{ value: delayMs => delayMs / 1000 }],
  },
  loopDelay('min', 'min', 'least'),
  loopDelay('max', 'max', 'most'),
  loopDelay('mean', 'average', 'mean'),
  loopDelay('stddev', 'average', 'standard deviation'),
  loopDelay('p50', 'max', 'median'),
  loopDelay('p90', 'max', '90th percentile'),
  loopDelay('p99', 'max', '99th percentile'),
  {
    prometheus: 'nodejs_eventloop_utilization_ratio',
    otel: 'nodejs.eventloop.utilization',
    kind: 'gauge',
    unit: '1',
    help: 'Share of time the event loop was not idle, in the last minute.',
    aggregator: 'average',
    read: (_, loop) => [[{}, loop.utilization()]],
  },
  {
    prometheus: 'nodejs_eventloop_time_seconds_total',
    otel: 'nodejs.eventloop.time',
    kind: 'counter',
    unit: 's',
    help: 'Time of the event loop by state.',
    labels: ['state'],
    read: (_, loop) => {
      const { active, idle } = loop.time()
      return [
        [{ state: 'active' }, active],
        [{ state: 'idle' }, idle],
      ]
    },
  },
]

export const METRICS: readonly Metric[] = [...REQUESTS, ...CALLS, ...GUARD, ...LIMITERS, ...POOLS, ...PROCESS]

function perStream(read: (loss: LogLossRecord) => number): Feed<LogLossRecord>[] {
  return (['stdout', 'stderr'] as const).map(stream => ({
    labels: { stream },
    value: loss => (loss.stream === stream ? read(loss) : 0),
  }))
}

/** A figure of `guard.stats()` under its name there. */
function guardGauge(figure: GuardGauge, unit: string, help: string): Metric {
  return {
    prometheus: `meltproof_${figure}`,
    otel: `meltproof.${figure}`,
    kind: 'gauge',
    unit,
    help,
    read: guard => [[{}, guard.stats()[figure]]],
  }
}

/** A figure of `guard.stats()` that is on or off. */
function guardState(name: string, figure: GuardState, help: string): Metric {
  return {
    prometheus: `meltproof_${name}`,
    otel: `meltproof.${name}`,
    kind: 'gauge',
    unit: '{server}',
    help,
    aggregator: 'max',
    read: guard => [[{}, Number(guard.stats()[figure])]],
  }
}

function guardCounter(figure: GuardCounter, help: string): Metric {
  return {
    prometheus: `meltproof_${figure}_total`,
    otel: `meltproof.${figure}`,
    kind: 'counter',
    unit: '{request}',
    help,
    read: guard => [[{}, guard.stats()[figure]]],
  }
}

function waitS(waitedMs: number): number | undefined {
  return waitedMs >= 1 ? waitedMs / 1000 : undefined
}

type Reading = readonly [Labels, number]

function ofLimiters(read: (figures: LimiterFigures, limiter: string) => readonly Reading[]): Reading[] {
  return [...namedLimiters()].flatMap(([limiter, figures]) => read(figures(), limiter))
}

function limiterFigure(figure: 'inflight' | 'queued' | 'limit' | 'pressure', unit: string, help: string): Metric {
  return {
    prometheus: `meltproof_limiter_${figure}`,
    otel: `meltproof.limiter.${figure}`,
    kind: 'gauge',
    unit,
    help,
    labels: ['limiter'],
    read: () => ofLimiters((figures, limiter) => [[{ limiter }, figures[figure]]]),
  }
}

function loopDelay(figure: keyof LoopDelay, aggregator: Aggregator, words: string): Metric {
  return {
    prometheus: `nodejs_eventloop_delay_${figure}_seconds`,
    otel: `nodejs.eventloop.delay.${figure}`,
    kind: 'gauge',
    unit: 's',
    help: `Event loop delay, ${words}, in the last minute.`,
    aggregator,
    read: (_, loop) => {
      const delay = loop.delays.read(now())
      return delay === undefined ? [] : [[{}, delay[figure]]]
    },
  }
}
