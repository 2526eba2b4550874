/** The table of metrics for Prometheus and OpenTelemetry. A test checks that docs/metrics.md has a line for each. */
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
import { stallNaming } from '../signals/named-stalls.ts'
import type { CallTimeline } from '../timing/call-timeline.ts'
import type { EventLoop } from './event-loop.ts'
import type { Aggregator } from './instruments.ts'
import type { LabelName, Labels } from './labels.ts'
import type { LoopDelay } from './recent-delays.ts'

type GuardLoad = 'pressure' | 'utilisation' | 'demand' | 'load'
type GuardGauge = GuardLoad | 'inflight' | 'stragglers' | 'abandoned' | 'queued' | 'limit' | 'lanes'
type GuardCounter = 'admitted' | 'exempt' | 'left'
type GuardState = 'dryRun' | 'draining' | 'limitKnown'

/** The parts of a Guard that metrics read. */
export interface GuardLike {
  stats(): Readonly<Record<GuardGauge | GuardCounter, number>> &
    Readonly<Record<GuardState, boolean>> & { readonly shed: Readonly<Record<string, number>> }
  /** True for the combined guard of all servers in the process. */
  readonly ofAll?: true
  /** Separate counts for dry runs, if the process has both dry runs and real sheds. @default those of `stats()` */
  sheds?(): readonly { readonly dryRun: boolean; readonly shed: Readonly<Record<string, number>> }[]
}

/** How an event changes one series of a metric. */
export interface Feed<E> {
  /** Labels with constant values; the other labels come from the event. */
  readonly labels?: Labels
  /** True if only events that took `slowMs` or more change the series. */
  readonly bySlow?: true
  /** Returns the value to add for an event; undefined for none. */
  readonly value: (event: E) => number | undefined
}

type Reading = readonly [Labels, number]

/** A metric is fed by events, or read at each collection with `read`. */
export interface Metric {
  readonly prometheus: string
  readonly otel: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly unit: string
  readonly help: string
  readonly labels?: readonly LabelName[]
  /** For a gauge: how the values of a cluster's workers are combined. @default 'sum' */
  readonly aggregator?: Aggregator
  /** For a histogram: buckets have exemplars if the format supports them. */
  readonly exemplars?: true
  readonly request?: readonly Feed<RequestRecord>[]
  readonly shed?: readonly Feed<ShedRecord>[]
  readonly call?: readonly Feed<CallTimeline>[]
  readonly stall?: readonly Feed<StallRecord>[]
  readonly logLoss?: readonly Feed<LogLossRecord>[]
  readonly loopDelay?: readonly Feed<number>[]
  readonly read?: (guard: GuardLike, loop: EventLoop) => readonly Reading[]
}

type Described = Omit<Metric, 'prometheus' | 'otel' | 'kind' | 'unit'> & Partial<Pick<Metric, 'prometheus'>>

/** The words that an exporter appends to a name for its unit. */
const UNIT_WORDS: Readonly<Record<string, string>> = { s: 'seconds', '1': 'ratio' }

const VERDICTS: readonly Verdict[] = ['loop', 'dependency', 'network', 'self']

/** The four parts of a duration, in seconds. */
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

const histogram = (otel: string, described: Described): Metric => metric('histogram', otel, 's', described)
const counter = (otel: string, unit: string, described: Described): Metric => metric('counter', otel, unit, described)
const gauge = (otel: string, unit: string, described: Described): Metric => metric('gauge', otel, unit, described)

const AVERAGE = { unit: '1', aggregator: 'average' } as const

export const METRICS: readonly Metric[] = [
  // Requests.
  histogram('http.server.request.duration', {
    help: 'Time from the parsed head of a request until its response was sent, or until it was shed.',
    labels: ['method', 'scheme', 'status', 'error', 'route'],
    exemplars: true,
    request: [{ value: ({ totalMs }) => totalMs / 1000 }],
    shed: [{ value: ({ waitedMs }) => waitedMs / 1000 }],
  }),
  counter('meltproof.request.share', 's', {
    help: 'Time of requests by what took it: loop, dependency, network or self.',
    labels: ['route', 'part'],
    request: SHARES,
  }),
  histogram('meltproof.queue_wait', {
    help: 'Time requests waited at the gate, for those that waited 1 ms or more; included in self.',
    labels: ['outcome'],
    request: [{ labels: { outcome: 'admitted' }, value: ({ queuedMs }) => waitS(queuedMs) }],
    shed: [
      { labels: { outcome: 'shed' }, value: ({ reason, waitedMs }) => (reason === LEFT ? undefined : waitS(waitedMs)) },
      { labels: { outcome: LEFT }, value: ({ reason, waitedMs }) => (reason === LEFT ? waitS(waitedMs) : undefined) },
    ],
  }),
  counter('meltproof.request.late', 's', {
    help: 'Time requests may have waited unread in their sockets while the event loop was stalled; included in loop.',
    request: [{ value: ({ lateMs }) => lateMs / 1000 }],
  }),
  counter('meltproof.slow_requests', '{request}', {
    help: 'Slow requests by what was slow.',
    labels: ['verdict'],
    request: SLOW,
  }),
  // Outbound calls.
  histogram('http.client.request.duration', {
    help: 'Duration of outbound HTTP calls, as measured by this process.',
    labels: ['method', 'address', 'port', 'status', 'error'],
    call: [{ value: ({ wallMs }) => wallMs / 1000 }],
  }),
  histogram('meltproof.dependency.duration', {
    help: "Time that calls took at the peer, without this process's stalls and queues and without the network.",
    labels: ['peer'],
    call: [{ value: ({ dependencyMs }) => dependencyMs.best / 1000 }],
  }),
  counter('meltproof.call.share', 's', {
    help: 'Time of outbound calls by what took it: loop, dependency, network or self.',
    labels: ['peer', 'part'],
    call: SHARES,
  }),
  counter('meltproof.slow_calls', '{call}', {
    help: 'Slow outbound calls by what was slow.',
    labels: ['peer', 'verdict'],
    call: SLOW,
  }),
  counter('meltproof.calls', '{call}', {
    help: 'Outbound calls by outcome.',
    labels: ['peer', 'outcome'],
    call: [{ value: () => 1 }],
  }),
  // The guard.
  guardGauge('inflight', 'Requests in service that hold a permit. A streaming response may hold none.'),
  guardGauge(
    'stragglers',
    'Requests in service that have taken far longer than others, and that the limit does not count.',
  ),
  guardGauge('abandoned', 'Requests in service whose client has left or has been answered with 504.'),
  guardGauge('queued', 'Requests waiting at the gate.'),
  guardGauge('limit', 'The learned limit of requests in service.'),
  guardGauge('pressure', '0: requests start at once; 1: all are shed.', {
    unit: '1',
    aggregator: 'max',
    prometheus: 'meltproof_pressure',
  }),
  guardGauge(
    'utilisation',
    'The larger of two shares, 0 to 1: busy time of the event loop, and requests in service over the limit.',
    AVERAGE,
  ),
  guardGauge(
    'demand',
    'Requests offered over requests admitted: 1 without sheds, 3 when three such instances are needed.',
    AVERAGE,
  ),
  guardGauge('load', 'Utilisation times demand: 1 at capacity, 3 when three such instances are needed.', AVERAGE),
  guardGauge('lanes', 'Listening sockets.', { unit: '{socket}' }),
  guardState('dry_run', 'dryRun', '1: a dry run, sheds are counted but every request is served.'),
  guardState(
    'limit_known',
    'limitKnown',
    '1: the app set the limit, or meltproof found one; 0: no limit has been needed yet.',
  ),
  guardState('draining', 'draining', '1: the server is being shut down.'),
  guardCounter('admitted', 'Requests admitted.'),
  guardCounter('exempt', 'Exempt requests.'),
  guardCounter('left', 'Requests whose client left while they waited at the gate.'),
  counter('meltproof.shed', '{request}', {
    help: 'Requests shed, by reason; in a dry run, those that would have been shed.',
    labels: ['reason', 'dryRun'],
    read: guard => {
      const sheds = guard.sheds?.() ?? [guard.stats()]
      return sheds.flatMap(({ dryRun, shed }) =>
        Object.entries(shed).map(([reason, count]) => [{ reason, dryRun: String(dryRun) }, count] as const),
      )
    },
  }),
  // Limiters.
  limiterGauge('inflight', '{run}', 'Runs in service that hold a permit, for each limiter() with a name.'),
  limiterGauge('queued', '{run}', 'Runs waiting for a permit.'),
  limiterGauge('limit', '{run}', 'The learned limit of runs in service.'),
  limiterGauge('pressure', '1', '0: runs start at once; 1: all are shed.', {
    aggregator: 'max',
    prometheus: 'meltproof_limiter_pressure',
  }),
  counter('meltproof.limiter.admitted', '{run}', {
    help: 'Runs admitted.',
    labels: ['limiter'],
    read: () => ofLimiters(({ admitted }, limiter) => [[{ limiter }, admitted]]),
  }),
  counter('meltproof.limiter.shed', '{run}', {
    help: 'Runs shed, by reason.',
    labels: ['limiter', 'reason'],
    read: () =>
      ofLimiters(({ shed }, limiter) => Object.entries(shed).map(([reason, count]) => [{ limiter, reason }, count])),
  }),
  // Database pools, named as in OpenTelemetry's semantic conventions of database clients.
  gauge('db.client.connection.count', '{connection}', {
    help: 'Connections of bound database pools that the app is using.',
    labels: ['pool', 'poolState'],
    read: () => namedPools().map(({ name, used }) => [{ pool: name, poolState: 'used' }, used]),
  }),
  gauge('db.client.connection.max', '{connection}', {
    help: 'Maximum number of connections of these pools.',
    labels: ['pool'],
    read: () => namedPools().flatMap(({ name, most }) => (Number.isFinite(most) ? [[{ pool: name }, most]] : [])),
  }),
  gauge('db.client.connection.pending_requests', '{request}', {
    help: 'Callers waiting for a connection of these pools.',
    labels: ['pool'],
    read: () => namedPools().map(({ name, waiting }) => [{ pool: name }, waiting]),
  }),
  // The process.
  counter('meltproof.stalls', '{stall}', { help: 'Stalls of the event loop.', stall: [{ value: () => 1 }] }),
  counter('meltproof.stalled', 's', {
    help: 'Total duration of these stalls.',
    stall: [{ value: ({ fromMs, toMs }) => (toMs - fromMs) / 1000 }],
  }),
  counter('meltproof.stall', 's', {
    help: 'Total duration of stalls, by the place in the code that caused them; empty unless stalls are named.',
    labels: ['place'],
    read: () => Object.entries(stallNaming.figures?.seconds() ?? {}).map(([place, seconds]) => [{ place }, seconds]),
  }),
  counter('meltproof.log.lines_lost', '{line}', {
    help: 'Log lines dropped because they were not read in time.',
    labels: ['stream'],
    logLoss: [{ value: ({ lines }) => lines }],
  }),
  counter('meltproof.log.bytes_lost', 'By', {
    prometheus: 'meltproof_log_bytes_lost_total',
    help: 'Bytes of the log lines dropped.',
    labels: ['stream'],
    logLoss: [{ value: ({ bytes }) => bytes }],
  }),
  histogram('meltproof.loop_delay', {
    help: 'How long work that was due waited for the event loop; one observation every 10 ms.',
    loopDelay: [{ value: delayMs => delayMs / 1000 }],
  }),
  loopDelay('min', 'min', 'least'),
  loopDelay('max', 'max', 'most'),
  loopDelay('mean', 'average', 'mean'),
  loopDelay('stddev', 'average', 'standard deviation'),
  loopDelay('p50', 'max', 'median'),
  loopDelay('p90', 'max', '90th percentile'),
  loopDelay('p99', 'max', '99th percentile'),
  gauge('nodejs.eventloop.utilization', '1', {
    help: 'Share of the last minute in which the event loop was not idle.',
    aggregator: 'average',
    read: (_, loop) => [[{}, loop.utilization()]],
  }),
  counter('nodejs.eventloop.time', 's', {
    help: 'Time of the event loop by state.',
    labels: ['state'],
    read: (_, loop) => Object.entries(loop.time()).map(([state, seconds]) => [{ state }, seconds]),
  }),
]

/** Unless given, the Prometheus name is the one that an exporter derives from the OpenTelemetry name. */
function metric(kind: Metric['kind'], otel: string, unit: string, described: Described): Metric {
  const words = [otel.replaceAll('.', '_'), UNIT_WORDS[unit], kind === 'counter' ? 'total' : undefined]
  const prometheus = words.filter(word => word !== undefined).join('_')
  return { prometheus, otel, kind, unit, ...described }
}

type Details = Partial<Described> & { readonly unit?: string }

function guardGauge(figure: GuardGauge, help: string, { unit = '{request}', ...more }: Details = {}): Metric {
  return gauge(`meltproof.${figure}`, unit, { help, read: guard => [[{}, guard.stats()[figure]]], ...more })
}

function guardState(name: string, figure: GuardState, help: string): Metric {
  const read: Metric['read'] = guard => [[{}, Number(guard.stats()[figure])]]
  return gauge(`meltproof.${name}`, '{server}', { help, aggregator: 'max', read })
}

function guardCounter(figure: GuardCounter, help: string): Metric {
  return counter(`meltproof.${figure}`, '{request}', { help, read: guard => [[{}, guard.stats()[figure]]] })
}

function waitS(waitedMs: number): number | undefined {
  return waitedMs >= 1 ? waitedMs / 1000 : undefined
}

function ofLimiters(read: (figures: LimiterFigures, limiter: string) => readonly Reading[]): Reading[] {
  return [...namedLimiters].flatMap(([limiter, figures]) => read(figures(), limiter))
}

type LimiterGauge = 'inflight' | 'queued' | 'limit' | 'pressure'

function limiterGauge(figure: LimiterGauge, unit: string, help: string, more: Partial<Described> = {}): Metric {
  const read = (): readonly Reading[] => ofLimiters((figures, limiter) => [[{ limiter }, figures[figure]]])
  return gauge(`meltproof.limiter.${figure}`, unit, { help, labels: ['limiter'], read, ...more })
}

function loopDelay(figure: keyof LoopDelay, aggregator: Aggregator, words: string): Metric {
  return gauge(`nodejs.eventloop.delay.${figure}`, 's', {
    help: `Event loop delay, ${words}, in the last minute.`,
    aggregator,
    read: (_, loop) => {
      const delay = loop.delays.read(now())
      return delay === undefined ? [] : [[{}, delay[figure]]]
    },
  })
}
