/**
 * meltproof/prometheus: the metrics in Prometheus' text format, or in OpenMetrics for a scraper that asks for it. Needs no
 * other package; gives them to a prom-client registry where there is one.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidOption } from '../options.ts'
import type { Family } from './instruments.ts'
import { measuredFamilies } from './measured-families.ts'
import type { GuardLike } from './metrics.ts'
import { checkObserveOptions, OBSERVE_OPTIONS, type ObserveOptions } from './options.ts'
import { prometheusText } from './prometheus-text.ts'
import { answerScrape } from './scrape.ts'

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
  /** What a scrape gets that does not ask for OpenMetrics. */
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
  const { families, close: stop } = measuredFamilies(guard, checked)
  for (const family of families) register?.registerMetric(asPromClientMetric(family))
  const handler = (request: IncomingMessage, response: ServerResponse): void =>
    answerScrape(families, request, response)
  const close = (): void => {
    stop()
    for (const { name } of families) register?.removeSingleMetric(name)
  }
  return Object.assign(handler, { text: () => prometheusText(families), close })
}

/** prom-client asks a metric for its values when it is scraped. It takes the `_total` off our name while it writes OpenMetrics. */
function asPromClientMetric({ name, help, type, aggregator, samples }: Family): object {
  const values = (): object[] =>
    samples().map(({ suffix, labels, value, exemplar }) => ({
      ...(suffix === '' ? {} : { metricName: name + suffix }),
      labels,
      value,
      ...(exemplar && {
        exemplar: { labelSet: { trace_id: exemplar.traceId }, value: exemplar.value, timestamp: exemplar.atS },
      }),
    }))
  const metric = {
    ...{ name, help, type, aggregator },
    get: async () => ({ name: metric.name, help, type, aggregator, values: values() }),
    reset: () => undefined,
  }
  return metric
}
