// Loaded before an app: OpenTelemetry's auto-instrumentation, and prom-client's default metrics, read every second as
// a scrape would.
import '@opentelemetry/auto-instrumentations-node/register'
import { collectDefaultMetrics, register } from 'prom-client'

collectDefaultMetrics()
setInterval(() => void register.metrics(), 1000).unref()
