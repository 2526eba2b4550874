/**
 * The tide experiment: its texts and verdicts on made-up figures, and a brief run with a real service and PostgreSQL.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ScenarioResult } from '../../src/report/result.ts'
import { tide } from '../../src/scenarios/tide.ts'
import type { TideMeasured, TideStep } from '../../src/scenarios/tide-measured.ts'

const step = (phones: number, more: Partial<TideStep> = {}): TideStep => ({
  ...{ arm: 'meltproof', phones, durationMs: 1000, due: phones, acknowledged: phones, inTime: phones },
  ...{
    shed: 0,
    failed: 0,
    p50Ms: 2,
    p99Ms: 20,
    cores: phones / 10_000,
    peakRssBytes: 100e6,
    missing: 0,
    stored: phones,
  },
  ...more,
})
const verdicts = (measured: TideMeasured) =>
  Object.fromEntries(tide.expects.map(({ name, judge }) => [name, judge(measured)?.pass]))
const start = (words: string) => (name: string) => name.startsWith(words)
const verdictOf = (measured: TideMeasured, words: string) =>
  verdicts(measured)[Object.keys(verdicts(measured)).find(start(words))!]

test('one missing position fails the run, in a step or in the crash', () => {
  const crash = { phones: 10, due: 100, acknowledged: 90, missing: 0, stored: 91 }
  assert.equal(verdictOf({ steps: [step(100)] }, 'nothing that was acknowledged'), true)
  assert.equal(verdictOf({ steps: [step(100), step(200, { missing: 1 })] }, 'nothing that was acknowledged'), false)
  assert.equal(verdictOf({ steps: [], crash }, 'nor when'), true)
  assert.equal(verdictOf({ steps: [], crash: { ...crash, missing: 1 } }, 'nor when'), false)
  assert.equal(verdictOf({ steps: [] }, 'nor when'), undefined)
})

test('a load is judged by its CPU time, by the positions in time, and by what is kept under overload', () => {
  const over = step(9000, { inTime: 6000 })
  assert.equal(verdictOf({ steps: [step(100)] }, 'meltproof: 100 phones'), true)
  assert.equal(verdictOf({ steps: [step(100, { cores: 0.11 })] }, 'meltproof: 100 phones'), false)
  assert.equal(verdictOf({ steps: [step(3000), over] }, 'meltproof: one process'), true)
  assert.equal(verdictOf({ steps: [step(3000, { inTime: 2900 })] }, 'meltproof: one process'), false)
  assert.equal(verdictOf({ steps: [step(6000), over] }, 'meltproof: with more'), true)
  assert.equal(verdictOf({ steps: [step(6000), { ...over, inTime: 5000 }] }, 'meltproof: with more'), false)
  assert.equal(verdictOf({ steps: [step(6000)] }, 'meltproof: with more'), undefined, 'it carried all there were')
})

test('the view works without measurements, and with steps that hold and melt', () => {
  assert.equal(tide.view(tide.blank()).finding, 'Nothing was measured.')
  const { finding, standings, tables, plots } = tide.view({
    steps: [step(100), step(200, { inTime: 0, acknowledged: 0, p50Ms: null, p99Ms: null })],
  })
  assert.match(finding, /carries 100 phones, .* With 200 .*: meltproof 0\. No acknowledged position is missing/)
  assert.deepEqual(
    standings?.map(({ says, tone }) => [says, tone]),
    [['melts at 200', 'bad']],
  )
  assert.equal(tables[0]?.rows.length, 2)
  assert.equal(plots.length, 3)
})

test('in the brief form, no acknowledged position is missing, not even after two crashes', { timeout: 170_000 }, () => {
  const out = mkdtempSync(path.join(tmpdir(), 'meltlab-tide-'))
  const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [cli, 'run', 'tide', '--brief', '--json', '--out', out],
    { encoding: 'utf8' },
  )
  rmSync(out, { recursive: true, force: true })
  assert.equal(status, 0, stderr)
  const result = JSON.parse(stdout) as ScenarioResult
  assert.deepEqual(
    result.verdicts.slice(0, 2).map(({ verdict }) => verdict),
    ['pass', 'pass'],
  )
  const { steps, crash } = result.measured as TideMeasured
  assert.deepEqual([...new Set(steps.map(({ arm }) => arm))], ['bare', 'console.log', 'meltproof'])
  for (const { acknowledged, missing, stored } of steps)
    assert.deepEqual([missing, stored > 0 && stored >= acknowledged], [0, true])
  assert.ok(crash!.acknowledged > 0 && crash!.acknowledged < crash!.due, 'the crashes were felt')
})
