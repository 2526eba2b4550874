/** Writes families as OpenMetrics 1.0 text, which supports exemplars, and detects scrapers that prefer it. Pure. */
import type { Exemplar } from './exemplars.ts'
import type { Family, SampleLabels } from './instruments.ts'
import { braces, escaped } from './prometheus-text.ts'

export const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** Whether a scraper's `Accept` names OpenMetrics 1.0 with at least the preference of Prometheus' own format. */
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
