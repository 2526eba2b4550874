/** What meltproof measures, as Prometheus families: fed by the channels, in base units, with bounded labels. */
import type { RequestMessage } from '../channels.ts'
import type { LogLossRecord, OutboundRecord, RequestRecord, Shares, StallRecord, Verdict } from '../record.ts'
import type { CallTimeline } from '../timing/call-timeline.ts'
import type { EventLoop, LoopDelay } from './event-loop.ts'
import { Counter, type Family, Histogram, type HistogramSeries, type Labels, Reading } from './instruments.ts'
import { addressOf, methodLabel } from './labels.ts'
import type { CheckedObserveOptions } from './options.ts'
import type { GuardLike, Watcher } from './watch.ts'

const VERDICTS: readonly Verdict[] = ['loop', 'dependency', 'network', 'self']

interface RouteSeries {
  /** By method and then status. */
  readonly durations: Map<string, Map<number, HistogramSeries>>
  readonly shares: Readonly<Record<Verdict, { value: number }>>
}

/** Most requests count towards the same series as the one before. */
interface LastSeries {
  readonly method: string
  readonly status: number
  readonly route: string
  readonly duration: HistogramSeries
  readonly shares: RouteSeries['shares']
}

export class Figures implements Watcher {
  readonly #options: CheckedObserveOptions
  readonly #guard: GuardLike
  readonly #loop: EventLoop
  readonly #routes = new Map<string, RouteSeries>()
  readonly #queuedSum: { value: number }
  readonly #lateSum: { value: number }
  #delay: LoopDelay | undefined
  #last: LastSeries | undefined

  readonly #server = new Histogram(
    'http_server_request_duration_seconds',
    'From the parsed head of a request until its answer had left.',
  )
  readonly #client = new Histogram(
    'http_client_request_duration_seconds',
    'Wall time of calls to others, as we saw it.',
  )
  readonly #dependency = new Histogram(
    'meltproof_dependency_duration_seconds',
    'What calls took the one called, without stalls of our event loop, queues of ours and the network.',
  )
  readonly #requestShares = new Counter(
    'meltproof_request_share_seconds_total',
    'Time of requests by whose it was: loop, dependency, network, self.',
  )
  readonly #queued = new Counter(
    'meltproof_request_queued_seconds_total',
    'Time requests waited at the gate; part of self.',
  )
  readonly #late = new Counter(
    'meltproof_request_late_seconds_total',
    'How long requests may have lain in their sockets, unread, because the loop was stalled; part of loop.',
  )
  readonly #slowRequests = new Counter('meltproof_slow_requests_total', 'Slow requests by who was slow.')
  readonly #callShares = new Counter(
    'meltproof_call_share_seconds_total',
    'Time of calls to others by whose it was: loop, dependency, network, self.',
  )
  readonly #slowCalls = new Counter('meltproof_slow_calls_total', 'Slow calls to others by who was slow.')
  readonly #calls = new Counter('meltproof_calls_total', 'Calls to others by how they ended.')
  readonly #stalls = new Counter('meltproof_stalls_total', 'Stalls of the event loop.')
  readonly #stalled = new Counter('meltproof_stalled_seconds_total', 'How long these stalls were together.')
  readonly #lost = new Counter('meltproof_log_lines_lost_total', 'Log lines given up because nobody read them in time.')
  readonly #lostBytes = new Counter('meltproof_log_bytes_lost_total', 'Bytes of these.')

  constructor(options: CheckedObserveOptions, guard: GuardLike, loop: EventLoop) {
    this.#options = options
    this.#guard = guard
    this.#loop = loop
    // A counter that appears with its first event hides that event from rate().
    for (const verdict of VERDICTS) this.#slowRequests.add(0, { verdict })
    for (const stream of ['stdout', 'stderr']) {
      this.#lost.add(0, { stream })
      this.#lostBytes.add(0, { stream })
    }
    this.#stalls.add(0)
    this.#stalled.add(0)
    this.#queuedSum = this.#queued.series({})
    this.#lateSum = this.#late.series({})
  }

  request({ record, request }: RequestMessage): void {
    const { routeOf, slowMs } = this.#options
    const { duration, shares } = this.#series(record, routeOf(record, request))
    duration.observe(record.totalMs / 1000)
    shares.loop.value += record.shares.loopMs / 1000
    shares.dependency.value += record.shares.dependencyMs / 1000
    shares.network.value += record.shares.networkMs / 1000
    shares.self.value += record.shares.selfMs / 1000
    this.#queuedSum.value += record.queuedMs / 1000
    this.#lateSum.value += record.lateMs / 1000
    if (record.totalMs + record.lateMs >= slowMs) this.#slowRequests.add(1, { verdict: record.verdict })
  }

  #series({ method, status }: RequestRecord, route: string): LastSeries {
    const last = this.#last
    if (last !== undefined && last.status === status && last.method === method && last.route === route) return last
    const { durations, shares } = this.#routeSeries(route)
    const duration = this.#duration(durations, method, status, route)
    this.#last = { method, status, route, duration, shares }
    return this.#last
  }

  #duration(durations: RouteSeries['durations'], method: string, status: number, route: string): HistogramSeries {
    const label = methodLabel(method)
    let ofMethod = durations.get(label)
    if (ofMethod === undefined) {
      ofMethod = new Map()
      durations.set(label, ofMethod)
    }
    let duration = ofMethod.get(status)
    if (duration === undefined) {
      duration = this.#server.series({
        http_request_method: label,
        http_response_status_code: status === 0 ? '' : String(status),
        http_route: route,
      })
      ofMethod.set(status, duration)
    }
    return duration
  }

  /** Bounded, since routes, methods and statuses are. */
  #routeSeries(route: string): RouteSeries {
    let series = this.#routes.get(route)
    if (series === undefined) {
      const of = (part: Verdict): { value: number } => this.#requestShares.series({ http_route: route, part })
      series = {
        durations: new Map(),
        shares: { loop: of('loop'), dependency: of('dependency'), network: of('network'), self: of('self') },
      }
      this.#routes.set(route, series)
    }
    return series
  }

  readonly call = (record: OutboundRecord, timeline: CallTimeline): void => {
    const peer = this.#options.peerOf(record.peer)
    if (record.kind === 'http') {
      const { address, port } = addressOf(peer)
      this.#client.observe(timeline.wallMs / 1000, {
        http_request_method: methodLabel(record.operation),
        server_address: address,
        server_port: port,
        http_response_status_code: record.status === undefined ? '' : String(record.status),
      })
    }
    this.#dependency.observe(timeline.dependencyMs.best / 1000, { peer })
    addShares(this.#callShares, { peer }, timeline.shares)
    this.#calls.add(1, { peer, outcome: record.outcome })
    for (const verdict of VERDICTS) {
      const slow = timeline.wallMs >= this.#options.slowMs && verdict === timeline.verdict
      this.#slowCalls.add(slow ? 1 : 0, { peer, verdict })
    }
  }

  stall({ fromMs, toMs }: StallRecord): void {
    this.#stalls.add(1)
    this.#stalled.add((toMs - fromMs) / 1000)
  }

  logLoss({ stream, lines, bytes }: LogLossRecord): void {
    this.#lost.add(lines, { stream })
    this.#lostBytes.add(bytes, { stream })
  }

  /** All of them. Read `delay` families in order: the first takes what the others then show. */
  families(): readonly Family[] {
    const stats = (): ReturnType<GuardLike['stats']> => this.#guard.stats()
    const gauge = (name: string, help: string, read: () => number): Family =>
      new Reading('gauge', name, help, () => [[{}, read()]])
    const delay = (figure: keyof LoopDelay, help: string): Family =>
      gauge(`nodejs_eventloop_delay_${figure}_seconds`, `Event loop delay, ${help}, since the last look.`, () => {
        if (figure === 'min' || this.#delay === undefined) this.#delay = this.#loop.delay()
        return this.#delay[figure]
      })
    return [
      this.#server,
      this.#client,
      this.#dependency,
      this.#requestShares,
      this.#queued,
      this.#late,
      this.#slowRequests,
      this.#callShares,
      this.#slowCalls,
      this.#calls,
      gauge(
        'meltproof_inflight',
        'Requests in service that hold a permit; what merely flows may not.',
        () => stats().inflight,
      ),
      gauge(
        'meltproof_outstaying',
        'Requests in service that take far longer than others of their kind, and go on without a permit.',
        () => stats().stragglers,
      ),
      gauge(
        'meltproof_abandoned',
        'Requests in service whose client has left or was told 504, while the handler works on.',
        () => stats().abandoned,
      ),
      gauge('meltproof_queued', 'Requests waiting at the gate.', () => stats().queued),
      gauge('meltproof_limit', 'How many may be in service at once, as learned so far.', () => stats().limit),
      gauge('meltproof_pressure', '0: every request starts at once; 1: every one is shed.', () => stats().pressure),
      gauge('meltproof_lanes', 'Listening sockets.', () => stats().lanes),
      new Reading('counter', 'meltproof_admitted_total', 'Requests admitted.', () => [[{}, stats().admitted]]),
      new Reading('counter', 'meltproof_shed_total', 'Requests shed, by reason.', () =>
        Object.entries(stats().shed).map(([reason, value]) => [{ reason }, value]),
      ),
      this.#stalls,
      this.#stalled,
      this.#lost,
      this.#lostBytes,
      delay('min', 'least'),
      delay('max', 'most'),
      delay('mean', 'mean'),
      delay('stddev', 'standard deviation'),
      delay('p50', 'median'),
      delay('p90', '90th percentile'),
      delay('p99', '99th percentile'),
      gauge(
        'nodejs_eventloop_utilization_ratio',
        'Share of time the event loop was not idle, since the last look.',
        () => this.#loop.utilization(),
      ),
      new Reading('counter', 'nodejs_eventloop_time_seconds_total', 'Time of the event loop by state.', () => {
        const { active, idle } = this.#loop.time()
        return [
          [{ nodejs_eventloop_state: 'active' }, active],
          [{ nodejs_eventloop_state: 'idle' }, idle],
        ]
      }),
    ]
  }
}

function addShares(counter: Counter, labels: Labels, shares: Shares): void {
  counter.add(shares.loopMs / 1000, { ...labels, part: 'loop' })
  counter.add(shares.dependencyMs / 1000, { ...labels, part: 'dependency' })
  counter.add(shares.networkMs / 1000, { ...labels, part: 'network' })
  counter.add(shares.selfMs / 1000, { ...labels, part: 'self' })
}
