/** docs/metrics.md has the same table of metrics as the code, and Prometheus and OpenTelemetry use matching names. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { LABELS } from '../../src/observe/labels.ts'
import { METRICS } from '../../src/observe/metrics.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/metrics.md'), 'utf8')

/** Returns the rows of the table whose first column has this heading. */
function rowsBelow(heading: string): string[] {
  const lines = page.split('\n')
  const head = lines.findIndex(line => line.startsWith(`| ${heading} |`))
  assert.notEqual(head, -1, `docs/metrics.md has no table that begins with ${heading}`)
  const rows = lines.slice(head + 2)
  return rows.slice(
    0,
    rows.findIndex(line => !line.startsWith('|')),
  )
}

test('docs/metrics.md lists exactly the metrics of METRICS', () => {
  const joins = { sum: 'sum', max: 'greatest', min: 'least', average: 'average' }
  const rows = METRICS.map(({ prometheus, otel, kind, unit, labels = [], aggregator = 'sum', help }) => {
    const named = labels.map(name => `\`${name}\``).join(', ')
    const told = [`${kind}, \`${unit}\``, named, joins[aggregator], help]
    return `| \`${prometheus}\`<br>\`${otel}\` | ${told.join(' | ')} |`.replace('|  |', '| |')
  })
  assert.deepEqual(rowsBelow('metric'), rows)
})

test('docs/metrics.md lists the labels', () => {
  const rows = Object.entries(LABELS).map(([name, { prometheus, otel }]) => {
    return `| \`${name}\` | \`${prometheus}\` | \`${otel}\` |`
  })
  assert.deepEqual(rowsBelow('label'), rows)
})

test('the Prometheus name is what an exporter makes of the OpenTelemetry name', () => {
  const suffixes: Readonly<Record<string, string>> = { s: '_seconds', '1': '_ratio' }
  for (const { prometheus, otel, kind, unit } of METRICS) {
    // These names are older than the rule, and dashboards use them. The pressure of a limiter is named like a guard's.
    if (['meltproof_pressure', 'meltproof_limiter_pressure', 'meltproof_log_bytes_lost_total'].includes(prometheus))
      continue
    const name = otel.replaceAll('.', '_') + (suffixes[unit] ?? '') + (kind === 'counter' ? '_total' : '')
    assert.equal(prometheus, name)
  }
})

test('each metric has exactly one source: one kind of event, or a function read at the scrape', () => {
  for (const { otel, request, shed, call, stall, logLoss, loopDelay, read } of METRICS) {
    const fed = [request ?? shed, call, stall, logLoss, loopDelay, read]
    assert.equal(fed.filter(each => each !== undefined).length, 1, otel)
  }
})
