/**
 * meltproof/prometheus: the metrics in Prometheus' text format. Needs no other package; gives them to a prom-client
 * registry where there is one.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DURATION_BOUNDARIES_S } from '../durations.ts'
import { invalidOption } from '../options.ts'
import { type Family, type SampleLabels, SampledSeries } from './instruments.ts'
import { LABELS, type LabelName, type Labels } from './labels.ts'
import { measure } from './measuring.ts'
import { type GuardLike, METRICS } from './metrics.ts'
import { checkObserveOptions, OBSERVE_OPTIONS, type ObserveOptions } from './options.ts'
import { CONTENT_TYPE, prometheusText } from './prometheus-text.ts'

export type { GuardLike, ObserveOptions }

/** What we need of a prom-client (15 or later) registry. */
export interface PromClientRegistry {
  // biome-ignore lint/suspicious/noExplicitAny: prom-client's own type is generic over its metric classes.
  registerMetric(metric: any): void
  removeSingleMetric(name: string): void
}

export interface MetricsOptions extends ObserveOptions {
  /** A registry of prom-client: our metrics are registered there too, beside your own. */
  readonly register?: PromClientRegistry
}

export interface MetricsHandler {
  /** Answers a scrape. For `http.createServer(handler)`, or as a route of Express, or called by any other framework. */
  (request: IncomingMessage, response: ServerResponse): void
  /** What a scrape would get. */
  text(): string
  /** Stops measuring; scrapes get the last figures. */
  close(): void
}

/**
 * Measures what happens at `guard` and in its process, and answers scrapes.
 *
 * ```js
 * const guard = protect(server)
 * http.createServer(metrics(guard)).listen(9464)
 * ```
 *
 * On a port of its own a scrape never queues behind the service's requests. On the service's port, exempt its path.
 * @throws MeltproofError for an option that is unknown or out of range.
 */
export function metrics(guard: GuardLike, options: MetricsOptions = {}): MetricsHandler {
  const checked = checkObserveOptions('metrics(guard, options)', guard, options, [...OBSERVE_OPTIONS, 'register'])
  const { register } = options
  if (register !== undefined && typeof register?.registerMetric !== 'function') {
    invalidOption('register', 'a registry of prom-client 15 or later, such as `client.register`', register)
  }
  const series = new Map(METRICS.map(metric => [metric, [] as SampledSeries[]]))
  const { loop, close: stop } = measure(guard, checked, {
    metrics: METRICS,
    seriesOf(metric, labels) {
      const boundaries = metric.kind === 'histogram' ? DURATION_BOUNDARIES_S : undefined
      const made = new SampledSeries(sampleLabels(labels), boundaries)
      series.get(metric)!.push(made)
      return made
    },
  })
  const families = METRICS.map((metric): Family => {
    const { prometheus: name, help, kind: type, aggregator = 'sum', read } = metric
    const samples =
      read === undefined
        ? () => series.get(metric)!.flatMap(each => each.samples())
        : () => read(guard, loop).map(([labels, value]) => ({ suffix: '', labels: sampleLabels(labels), value }))
    return { name, help, type, aggregator, samples }
  })
  for (const family of families) register?.registerMetric(asPromClientMetric(family))
  const text = (): string => prometheusText(families)
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
      return
    }
    response.writeHead(200, { 'content-type': CONTENT_TYPE, 'cache-control': 'no-store' }).end(text())
  }
  const close = (): void => {
    stop()
    for (const { name } of families) register?.removeSingleMetric(name)
  }
  return Object.assign(handler, { text, close })
}

function sampleLabels(labels: Labels): SampleLabels {
  const named: Record<string, string> = {}
  for (const [label, value] of Object.entries(labels)) {
    named[LABELS[label as LabelName].prometheus] = String(value ?? '')
  }
  return named
}

/** prom-client asks a metric for its values when it is scraped; it needs nothing else of it. */
function asPromClientMetric({ name, help, type, aggregator, samples }: Family): object {
  const metric = { name, help, type, aggregator }
  const values = (): object[] =>
    samples().map(({ suffix, labels, value }) => ({ metricName: name + suffix, labels, value }))
  return { ...metric, get: async () => ({ ...metric, values: values() }), reset: () => undefined }
}
