/** The terminal output of an audit: 80 columns, worst findings first, verdict last. Pure. */
import { wrapWords } from '../report/wrap-words.ts'
import { plural } from '../words.ts'
import type { AuditResult } from './result.ts'

const WIDTH = 80
const INDENT = '         '
const SIGNS = { melts: 'MELTS', warning: 'warning' }

export function auditText(result: AuditResult): string {
  const findings = result.findings.map(({ severity, what, where, times, remedy }) => {
    const [first, ...more] = wrapWords(what, WIDTH - INDENT.length)
    const often = times === null ? '' : `, ${plural(times, 'time')}`
    return [
      SIGNS[severity].padEnd(INDENT.length) + first,
      ...more.map(line => INDENT + line),
      ...(where === null ? [] : wrapWords(`at ${where}${often}`, WIDTH - INDENT.length).map(line => INDENT + line)),
      `${INDENT}-> ${remedy}`,
    ].join('\n')
  })
  const notes = result.notes.flatMap(note => wrapWords(`note: ${note}`, WIDTH)).join('\n')
  return [...findings, ...(notes === '' ? [] : [notes]), wrapWords(verdict(result), WIDTH).join('\n')].join('\n\n')
}

function verdict({ findings, requests, paths, tooFew, incomplete }: AuditResult): string {
  const melts = findings.filter(({ severity }) => severity === 'melts').length
  const warnings = findings.length - melts
  const parts = [
    ...(melts === 0 ? [] : [`${plural(melts, 'thing')} would melt it`]),
    ...(warnings === 0 ? [] : [plural(warnings, 'warning')]),
    ...(tooFew.length === 0 ? [] : [`too few requests to judge ${tooFew.join(' and ')} (raise --duration)`]),
  ]
  const said = parts.length === 0 ? 'nothing found' : parts.join(', ')
  const early = incomplete ? 'INCOMPLETE, ended early: ' : ''
  return `${early}${said}, in ${requests.toLocaleString('en-US')} requests to ${paths.join(', ')}.`
}
