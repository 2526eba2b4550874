// Loaded before an app: OpenTelemetry's auto-instrumentation, and the default metrics of prom-client, which are read
// every second, like by a scrape.
import '@opentelemetry/auto-instrumentations-node/register'
import { collectDefaultMetrics, register } from 'prom-client'

collectDefaultMetrics()
setInterval(() => void register.metrics(), 1000).unref()
