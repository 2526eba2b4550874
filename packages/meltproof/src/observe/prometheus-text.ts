/** Writes families in Prometheus' text format 0.0.4. Pure. */
import type { Family, SampleLabels } from './instruments.ts'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function prometheusText(families: readonly Family[]): string {
  let text = ''
  for (const family of families) {
    const { name, help, type } = family
    text += `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`
    for (const { suffix, labels, value } of family.samples()) text += `${name}${suffix}${braces(labels)} ${value}\n`
  }
  return text
}

export function braces(labels: SampleLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** Escapes a value, so that it cannot end its quotes or its line. */
export function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, character => (character === '\n' ? '\\n' : `\\${character}`))
}
