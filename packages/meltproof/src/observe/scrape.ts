/** Answers scrapes, in Prometheus' text format 0.0.4 or in OpenMetrics 1.0, which supports exemplars. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Exemplar, Family, SampleLabels } from './instruments.ts'

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

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

/** True if a scraper's `Accept` names OpenMetrics 1.0 with at least the preference of Prometheus' own format. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  let openMetrics = 0
  let classic = 0
  for (const range of accept?.split(',') ?? []) {
    const [type, ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    const given = new Map(parameters.map(parameter => parameter.split('=', 2) as [string, string | undefined]))
    const quality = Number(given.get('q') ?? 1)
    const is1 = (given.get('version') ?? '1.0.0').replaceAll('"', '') === '1.0.0'
    if (type === 'application/openmetrics-text' && is1) openMetrics = Math.max(openMetrics, quality)
    if (type === 'text/plain') classic = Math.max(classic, quality)
  }
  return openMetrics > 0 && openMetrics >= classic
}

export function prometheusText(families: readonly Family[]): string {
  let text = ''
  for (const { name, help, type, samples } of families) {
    text += `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`
    for (const { suffix, labels, value } of samples()) text += `${name}${suffix}${braces(labels)} ${value}\n`
  }
  return text
}

export function openMetricsText(families: readonly Family[]): string {
  let text = ''
  for (const { name: sampleName, help, type, samples } of families) {
    const name = type === 'counter' ? sampleName.replace(/_total$/, '') : sampleName
    text += `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`
    for (const { suffix, labels, value, exemplar } of samples()) {
      text += `${sampleName}${suffix}${braces(canonical(labels))} ${value}${exemplar === undefined ? '' : shown(exemplar)}\n`
    }
  }
  return `${text}# EOF\n`
}

/** OpenMetrics requires a decimal point in bucket bounds. */
function canonical(labels: SampleLabels): SampleLabels {
  const { le } = labels
  return le !== undefined && /^\d+$/.test(le) ? { ...labels, le: `${le}.0` } : labels
}

function shown({ traceId, value, atS }: Exemplar): string {
  return ` # {trace_id="${traceId}"} ${value} ${atS.toFixed(3)}`
}

function braces(labels: SampleLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** Escapes a value, so that it cannot end its quotes or its line. */
function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))
}
