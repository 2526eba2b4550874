/** The logging experiment: its texts and verdicts on made-up figures, and a brief run with a real service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logging } from '../../src/scenarios/logging.ts'
import { type Cell, type CellResult, type LoggingMeasured, shareKept } from '../../src/scenarios/logging-measured.ts'
import { runCommand } from './run-command.ts'

const MB = 1024 * 1024

function cell(what: Partial<Cell>, figures: Partial<CellResult> = {}): CellResult {
  return {
    ...{ logger: 'console', protect: false, stage: 'pipe', share: 0.1, variant: 'database', ...what },
    ...{
      rate: 1000,
      completed: 2000,
      failed: 0,
      cores: 1,
    },
    ...{
      percentiles: [
        [50, 2],
        [100, 3],
      ],
      peakBytes: 80 * MB,
      lines: { logged: 10, got: 10, told: 0 },
    },
    ...figures,
  }
}

const none = cell({ logger: 'none', stage: 'null', share: null })
const measured = (...cells: CellResult[]): LoggingMeasured => ({
  users: 100,
  needed: 1000,
  bufferBytes: 8 * MB,
  cells: [none, ...cells],
})

function verdict(words: string, ...cells: CellResult[]): boolean | undefined {
  const found = logging.expects.filter(({ name }) => name.includes(words))
  assert.equal(found.length, 1, words)
  return found[0]!.judge(measured(...cells))?.pass
}

test('the expectation of a 5x fall applies to terminals and blocking pipes only', () => {
  assert.equal(verdict('falls at least 5x'), undefined)
  assert.equal(verdict('falls at least 5x', cell({ stage: 'terminal' }, { rate: 200 })), true)
  assert.equal(verdict('falls at least 5x', cell({ stage: 'terminal' }, { rate: 201 })), false)
  assert.equal(verdict('falls at least 5x', cell({ stage: 'pipe' })), undefined)
})

test('a bare pipe is expected to keep unread lines in memory, and to lose them', () => {
  const lines = { logged: 100, got: 49, told: 0 }
  const judged = (figures: Partial<CellResult>): boolean | undefined => verdict('stays in memory', cell({}, figures))
  assert.equal(verdict('stays in memory'), undefined)
  assert.equal(judged({ lines, peakBytes: 112 * MB }), true)
  assert.equal(judged({ lines, peakBytes: 111 * MB }), false)
  assert.equal(judged({ lines, peakBytes: undefined }), false)
  assert.equal(judged({ lines: { ...lines, told: 1 }, peakBytes: 112 * MB }), false)
  const expected = logging.expects.find(({ name }) => name.includes('stays in memory'))!
  const words = expected.judge(measured(cell({}, { lines, peakBytes: 120 * MB })))?.measured
  assert.match(words ?? '', /51 of 100 lines lost, 42 MB more memory than without logging/)
})

test('every protected cell with a slow reader is expected to keep 95 %', () => {
  const terminal = cell({ protect: true, stage: 'terminal' }, { rate: 950 })
  assert.equal(verdict('95 %', terminal), true)
  assert.equal(verdict('95 %', terminal, cell({ protect: true }, { rate: 949 })), false)
  const { measured: words } = logging.expects
    .find(({ name }) => name.includes('95 %'))!
    .judge(measured(terminal, { ...none, rate: 940 }, { ...none, rate: 1030 }))!
  assert.match(words, /the runs without logging themselves are 94 % to 103 % of their median/)
})

test('an unaccounted line, or a service that had to be killed, fails the expectation of exact counts', () => {
  const exact = cell({ protect: true }, { lines: { logged: 10, got: 7, told: 3 } })
  assert.equal(verdict('exactly', exact), true)
  assert.equal(verdict('exactly', exact, cell({ protect: true }, { lines: { logged: 10, got: 7, told: 2 } })), false)
  assert.equal(verdict('exactly', cell({ protect: true }, { lines: { logged: 10, got: 7, told: 4 } })), false)
  assert.equal(verdict('exactly', cell({ protect: true }, { lines: undefined })), false)
})

test('memory may exceed that of the run without logging by at most the buffer and 64 MB', () => {
  assert.equal(verdict('uncollected garbage', cell({ protect: true }, { peakBytes: 152 * MB })), true)
  assert.equal(verdict('uncollected garbage', cell({ protect: true }, { peakBytes: 153 * MB })), false)
})

test('a cell is compared with the runs without logging before and after it, and a variant with its own', () => {
  const of = (rate: number, variant: Cell['variant'] = 'database'): CellResult =>
    cell({ logger: 'none', stage: 'null', variant }, { rate })
  const around = (...those: CellResult[]): number | undefined =>
    shareKept({ ...measured(), cells: those }, those.find(each => each.logger !== 'none')!)
  assert.equal(around(of(900), of(1000), cell({}), of(1200), of(5000)), 1000 / 1100)
  assert.equal(around(of(800), cell({})), 1.25)
  assert.equal(around(of(900), cell({ variant: 'cluster' }), of(500, 'cluster')), 2)
  assert.equal(around(of(77, 'cluster'), cell({})), undefined)
})

test('bare and protected cells are compared with the same runs without logging', () => {
  const of = (rate: number): CellResult => cell({ logger: 'none', stage: 'null' }, { rate })
  for (const made of [cell({}, { rate: 930 }), cell({ protect: true }, { rate: 930 })]) {
    assert.equal(shareKept({ ...measured(), cells: [of(1000), made, of(1000)] }, made), 0.93)
  }
})

test('each row of the table has its share of the runs without logging next to it', () => {
  const of = (rate: number): CellResult => cell({ logger: 'none', stage: 'null' }, { rate })
  const cells = [of(1000), cell({}, { rate: 500 }), of(1000), of(2000), cell({}, { rate: 500 }), of(2000)]
  const [table] = logging.view({ ...measured(), cells }).tables
  const at = table!.columns.indexOf('of no logging')
  assert.deepEqual(
    table!.rows.map(row => row.cells[at]),
    ['100 %', '50 %', '100 %', '100 %', '25 %', '100 %'],
  )
})

test('published figures are compared with our runs of the slowest reader and of each variant', () => {
  const cells = [
    cell({ stage: 'blocking', share: 0.02 }, { rate: 20 }),
    cell({ stage: 'blocking' }, { rate: 100 }),
    cell({ logger: 'none', stage: 'null', share: null, variant: 'cluster' }),
    cell({ stage: 'blocking', variant: 'cluster' }, { rate: 110 }),
  ]
  const ours = (what: string): string | undefined =>
    logging.published.find(each => each.what.includes(what))!.ours(measured(...cells))
  assert.match(ours('with the access logger')!, /^20\/s \(p50 2.*\), a pipe set to block, read at 2 %$/)
  assert.match(ours('one against the other')!, /^50 times/)
  assert.match(ours('cluster')!, /keep 11 % .* keeps 10 % /)
  assert.equal(ours('without the database'), undefined)
})

test('the view works without measurements and with some, and names the worst cell', () => {
  assert.match(logging.view(logging.blank()).finding, /ended before it could compare/)
  const { finding, tables, plots } = logging.view(
    measured(
      cell({ stage: 'blocking' }, { rate: 100 }),
      cell({ stage: 'blocking', protect: true }, { rate: 990, peakBytes: undefined, lines: undefined }),
    ),
  )
  assert.match(
    finding,
    /leaves 10 % of .*: 100\/s, on a pipe set to block, read at 10 % of the needed speed\. With .* 99 % or more/,
  )
  assert.equal(tables[0]?.rows.length, 3)
  assert.match(plots[0]?.note ?? '', /an inference/)
})

test('in the brief form, a service on a real pipe accounts for every line', { timeout: 240_000 }, async () => {
  const { result } = await runCommand('logging')
  const exact = result.verdicts.find(({ name }) => name.includes('exactly'))
  assert.equal(exact?.verdict, 'pass', exact?.measured)
  assert.equal(result.tables[0]!.rows.length, 5)
})
