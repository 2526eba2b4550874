/** What a melt run shows: its finding, its table and its plots. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresTable, finding, meltView } from '../../src/melt/view.ts'
import { pictureSvg } from '../../src/report/plot-svg.ts'
import { tableText } from '../../src/report/text.ts'
import { arms, madeMeasured } from './fixture.ts'

test('the finding, in words', () => {
  const { rows } = madeMeasured()
  assert.equal(
    finding(rows, arms),
    'At 10x its capacity, the bare app melts to 0 good answers a second; protected, it keeps 191, 98 % of what it can do.',
  )
  const held = rows.map(row => (row.arm === 'bare' ? { ...row, goodput: 180, ofCapacity: 180 / 195 } : row))
  assert.equal(
    finding(held, arms),
    'At 10x its capacity, the bare app keeps 180 good answers a second (92 % of what it can do) and the protected one 191 good answers a second (98 % of what it can do).',
  )
  assert.equal(finding([], arms), 'Nothing was measured before the run ended.')
  const onlyBare = rows.filter(row => row.arm === 'bare' && row.multiple < 2)
  assert.match(finding(onlyBare, arms), /^At 1x its capacity, bare keeps 195/)
})

test('the table names each arm once', () => {
  const lines = tableText(figuresTable(madeMeasured())).split('\n')
  const rows = lines.slice(4).map(line => line.split(/ {2,}/))
  assert.deepEqual(rows[4], [
    '',
    '10x',
    '1,950',
    '0',
    '0 %',
    '2.40 s',
    '2.40 s',
    '0',
    '–',
    '20',
    '9,650',
    '2.40 s',
    '79 MB',
  ])
  assert.deepEqual(
    rows.map(([name]) => name).filter(name => name !== ''),
    ['bare', 'protected', 'toobusy-js'],
  )
})

test('a plot over the loads for goodput, latency and errors, and four over time for each load', () => {
  const { plots, tables } = meltView(madeMeasured(), arms)
  assert.equal(plots.length, 3 + 4 * 5)
  assert.equal(new Set(plots.map(plot => plot.fold)).size, 1 + 5)
  assert.deepEqual(
    tables.map(table => table.rows.length),
    [15, 1],
  )
  const svg = pictureSvg(plots[0]!, arms, 'A headline')
  assert.equal(svg.match(/<polyline class="line"/g)?.length, 3)
  assert.equal(svg.match(/<polyline class="ideal"/g)?.length, 1)
  for (const name of ['bare', 'protected', 'toobusy-js', '10x']) assert.match(svg, new RegExp(`>${name}</text>`))
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
})

test('without a capacity there is nothing to show, and with it the capacity', () => {
  const nothing = meltView(madeMeasured({ capacity: null, rows: [], steps: [] }), arms)
  assert.deepEqual(nothing, { finding: 'Nothing was measured before the run ended.', tables: [], plots: [] })
  assert.equal(meltView(madeMeasured({ rows: [], steps: [] }), arms).tables.length, 1)
})
