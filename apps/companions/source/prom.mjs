// Preloaded beside an app: prom-client's default metrics, read every second as a scrape would.
import { collectDefaultMetrics, register } from 'prom-client'

collectDefaultMetrics()
setInterval(() => void register.metrics(), 1000).unref()
