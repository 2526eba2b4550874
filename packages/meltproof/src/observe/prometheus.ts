/**
 * meltproof/prometheus: the metrics in Prometheus' text format, or in OpenMetrics for a scraper that asks for it. This
 * needs no other package, but can register the metrics with prom-client.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MeltproofError } from '../errors.ts'
import { invalidOption, showThrown } from '../options.ts'
import type { Family } from './instruments.ts'
import { measuredFamilies } from './measured-families.ts'
import type { GuardLike } from './metrics.ts'
import { checkObserveOptions, type ObserveOptions } from './options.ts'
import { answerScrape, prometheusText } from './scrape.ts'

export type { GuardLike, ObserveOptions }

/** The members of a prom-client registry (15 or later) that meltproof uses. */
export interface PromClientRegistry {
  // biome-ignore lint/suspicious/noExplicitAny: prom-client's own type is generic over its metric classes.
  registerMetric(metric: any): void
  removeSingleMetric(name: string): void
}

export interface MetricsOptions extends ObserveOptions {
  /** A prom-client registry: meltproof's metrics are also registered there. */
  readonly register?: PromClientRegistry
}

export interface MetricsHandler {
  /** Answers a scrape. For `http.createServer(handler)`, as a route of Express, or called by another framework. */
  (request: IncomingMessage, response: ServerResponse): void
  /** The text for a scrape that does not ask for OpenMetrics. */
  text(): string
  /** Stops measuring; later scrapes get the last figures. */
  close(): void
}

/**
 * Measures the requests of `guard` and its process, and answers scrapes.
 *
 * ```js
 * const guard = protect(server)
 * http.createServer(metrics(guard)).listen(9464)
 * ```
 *
 * On a separate port a scrape never queues behind the service's requests. On the service's port, exempt its path.
 * @throws MeltproofError for an option that is unknown or out of range, or a registry that already has such a metric.
 */
export function metrics(guard: GuardLike, options: MetricsOptions = {}): MetricsHandler {
  const checked = checkObserveOptions('metrics(guard, options)', guard, options, 'register')
  const { register } = options
  if (register !== undefined && typeof register?.registerMetric !== 'function') {
    invalidOption('register', 'a registry of prom-client 15 or later, such as `client.register`', register)
  }
  const { families, close: stop } = measuredFamilies(guard, checked)
  const registered: string[] = []
  const close = (): void => {
    stop()
    for (const name of registered) register?.removeSingleMetric(name)
  }
  for (const family of families) {
    try {
      register?.registerMetric(asPromClientMetric(family))
      registered.push(family.name)
    } catch (cause) {
      close()
      const advice = 'Give each call of metrics() its own registry: { register: new Registry() }.'
      const problem = `register did not accept the metric ${family.name}: ${showThrown(cause)} ${advice}`
      throw new MeltproofError('MELTPROOF_OPTION_INVALID', problem, { cause })
    }
  }
  const handler = (request: IncomingMessage, response: ServerResponse): void =>
    answerScrape(families, request, response)
  return Object.assign(handler, { text: () => prometheusText(families), close })
}

/** prom-client reads the values at each scrape, and removes `_total` from the name while it writes OpenMetrics. */
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
