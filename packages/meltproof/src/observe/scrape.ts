/** Answers one scrape, in the format that the scraper prefers. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Family } from './instruments.ts'
import { OPENMETRICS_TYPE, openMetricsText, prefersOpenMetrics } from './openmetrics-text.ts'
import { PROMETHEUS_TYPE, prometheusText } from './prometheus-text.ts'

export function answerScrape(families: readonly Family[], request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end()
    return
  }
  const open = prefersOpenMetrics(request.headers.accept)
  const type = open ? OPENMETRICS_TYPE : PROMETHEUS_TYPE
  const text = open ? openMetricsText(families) : prometheusText(families)
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
}
