/** The view of a melt run: its finding, its table and its plots. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresTable, finding, meltView } from '../../src/melt/view.ts'
import { standings } from '../../src/melt/standings.ts'
import { pictureSvg } from '../../src/report/plot-svg.ts'
import { tableText } from '../../src/report/text-table.ts'
import { arms, madeMeasured } from './fixture.ts'

test('the finding compares bare and protected at the highest load', () => {
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
  const sagging = rows.map(row => (row.arm === 'protected' ? { ...row, goodput: 160, ofCapacity: 160 / 195 } : row))
  assert.match(
    finding(sagging, arms),
    /the bare app melts to 0 good answers a second; protected, it keeps 160, 82 % of/,
  )
  assert.equal(finding([], arms), 'Nothing was measured before the run ended.')
  const onlyBare = rows.filter(row => row.arm === 'bare' && row.multiple < 2)
  assert.match(finding(onlyBare, arms), /^At 1x its capacity, bare keeps 195/)
})

test('the table names each arm once', () => {
  const lines = tableText(figuresTable(madeMeasured()), 200).split('\n')
  const rows = lines.slice(lines.findIndex(line => line.startsWith('─')) + 1).map(line => line.split(/ {2,}/))
  assert.deepEqual(rows[4], [
    '',
    '10x',
    '1,950',
    '0',
    '0 %',
    '2.40 s',
    '0',
    '9,650',
    '20',
    '2.40 s',
    '–',
    '2.40 s',
    '79 MB',
  ])
  assert.deepEqual(
    rows.map(([name]) => name).filter(name => name !== ''),
    ['bare', 'protected', 'toobusy-js'],
  )
})

test('there are plots of goodput, latency and errors by load, and four over time for each load', () => {
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

test('the view has no tables and plots without a capacity', () => {
  const nothing = meltView(madeMeasured({ capacity: null, rows: [], steps: [] }), arms)
  assert.deepEqual(nothing, { finding: 'Nothing was measured before the run ended.', tables: [], plots: [] })
  assert.equal(meltView(madeMeasured({ rows: [], steps: [] }), arms).tables.length, 1)
})

test('each arm has a verdict by its share of the possible goodput, and a figure at the highest common load', () => {
  const { standings } = meltView(madeMeasured(), arms)
  assert.deepEqual(
    standings?.map(({ arm, says, tone, figure, of }) => [arm, says, tone, figure, of]),
    [
      ['bare', 'melts at 2x', 'bad', '0/s', 'good at 10x'],
      ['protected', 'holds to 10x', 'good', '191/s', 'good at 10x'],
      ['toobusy-js', 'melts at 2x', 'bad', '6/s', 'good at 10x'],
    ],
  )
})

test('an arm can hold, sag, melt or die', () => {
  const row = (multiple: number, goodput: number, died = false) => ({
    ...{ arm: 'bare', multiple, goodput, died },
    ...{ offered: multiple * 100, ofCapacity: goodput / 100 },
  })
  const verdict = (...rows: ReturnType<typeof row>[]): string =>
    standings(rows, [{ name: 'bare' }]).map(({ says, tone }) => `${says}, ${tone}`)[0]!
  assert.equal(verdict(row(0.5, 50), row(1, 99), row(10, 70)), 'sags to 70 % at 10x, fair')
  assert.equal(verdict(row(0.5, 50), row(10, 89.6)), 'holds to 10x, good')
  // 142 of 142/s are answered at half of the capacity, which was 283/s before the load and 1,276/s after it.
  assert.equal(verdict({ ...row(0.5, 142), offered: 142, ofCapacity: 142 / 1276 }), 'holds to 0.5x, good')
  assert.equal(verdict(row(0.5, 20), row(10, 95)), 'melts at 0.5x, bad')
  assert.equal(verdict(row(1, 99), row(2, 60, true), row(3, 0)), 'dies at 2x, bad')
  assert.equal(verdict(row(1, 99), row(2, 10), row(3, 0, true)), 'melts at 2x, bad')
})

test('the load axis is logarithmic and labels each load', () => {
  const { plots } = meltView(madeMeasured(), arms)
  for (const plot of plots.slice(0, 3)) {
    assert.ok(plot.kind === 'lines')
    assert.equal(plot.x.scale, 'log')
    assert.deepEqual(plot.x.ticks, [0.5, 1, 2, 6, 10])
  }
})
