/** The parts of the scoreboard: the ideal curve, the state after an interrupted run, its view, and its options. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { partialRun } from '../packages/lab/src/commands/run.ts'
import { workloadOf } from '../bench/lib/rewrite-findings.ts'
import { runScenario, wordingOf } from '../packages/lab/src/experiment/run-scenario.ts'
import { scenario } from '../packages/lab/src/experiment/scenario.ts'
import { markdownReport } from '../packages/lab/src/commands/report.ts'
import type { ScenarioResult } from '../packages/lab/src/report/result.ts'
import { scoreboard } from '../packages/lab/src/scenarios/catalogue.ts'
import { idealShare } from '../packages/lab/src/scenarios/overload/ideal.ts'

const folder = mkdtempSync(join(tmpdir(), 'meltproof-overload-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the ideal share is 1 at the capacity, matches the formula beyond it, and is never negative', () => {
  // r = 3.8 us and S = 5 ms leave 92 % at 100 times the capacity.
  assert.equal(Math.round(100 * idealShare(100, 3.8, 5000)), 92)
  assert.equal(Math.round(100 * idealShare(10, 12, 5000)), 98)
  assert.equal(idealShare(0.7, 12, 5000), 0.7)
  assert.equal(idealShare(1, 12, 5000), 1)
  assert.equal(idealShare(1000, 12, 5000), 0)
})

test('a partial run that was stopped resumes with its measurements', async () => {
  const counting = scenario<{ steps: number[] }>({
    ...{ name: 'counting', title: 'Counting', story: 'It counts.', published: [], arms: [], expects: [] },
    resumes: true,
    blank: () => ({ steps: [] }),
    async run(context, measured) {
      for (let step = measured.steps.length; step < 3; step++) {
        if (step === 1 && stop) throw new Error('stopped')
        measured.steps.push(step)
        context.checkpoint()
      }
    },
    view: ({ steps }) => ({ finding: steps.join(), tables: [], plots: [] }),
  })
  let stop = true
  const file = join(folder, 'counting.json.part')
  const run = () =>
    runScenario(counting, {
      ...{ form: 'quick', commandLine: '', labVersion: '', signal: new AbortController().signal },
      progress: { status() {}, line() {}, clear() {} },
      ...partialRun(file, counting, 'quick'),
    })
  assert.equal((await run()).result.finding, '0')
  assert.deepEqual(partialRun(file, counting, 'full').resumed, undefined, 'another form has other durations')
  stop = false
  assert.equal((await run()).result.finding, '0,1,2')
  partialRun(file, counting, 'quick').forget()
  assert.equal(existsSync(file), false)
})

test('the pages of the scoreboard match the results', () => {
  const docs = join(import.meta.dirname, '../docs')
  const index = markdownReport(['bench/results/overload'], join(folder, 'images'), join(folder, 'scoreboard'))
  const again = 'node bench/overload.ts --report writes it'
  assert.equal(readFileSync(join(docs, 'scoreboard.md'), 'utf8'), index, again)
  assert.match(index, /^# Scoreboard\n/)
  assert.match(
    index,
    /\| \[5 ms of CPU in five steps, standing\]\(scoreboard\/overload-steps\.md\) \| 10x \|( ([\d.]+ %|–) \|){9} (yes|–) \|\n/,
  )
  const pages = readdirSync(join(folder, 'scoreboard'))
  assert.deepEqual(readdirSync(join(docs, 'scoreboard')), pages)
  for (const page of pages) {
    const written = readFileSync(join(folder, 'scoreboard', page), 'utf8')
    assert.equal(readFileSync(join(docs, 'scoreboard', page), 'utf8'), written, again)
  }
  for (const picture of readdirSync(join(folder, 'images'))) {
    const written = readFileSync(join(folder, 'images', picture), 'utf8')
    assert.equal(readFileSync(join(docs, 'images', picture), 'utf8'), written, again)
    assert.ok(index.includes(`](images/${picture})`), picture)
  }
  assert.match(
    readFileSync(join(docs, 'scoreboard/overload-random-paths.md'), 'utf8'),
    /<summary>The route beside it<\/summary>/,
  )
  const linked = [...index.matchAll(/\(scoreboard\/(overload-[\w-]+)\.md\)/g)].map(([, name]) => name!)
  const names = scoreboard.map(({ name }) => name)
  assert.deepEqual(
    [...new Set(linked)],
    names.filter(name => linked.includes(name)),
  )
})

test('all texts and plots of the results match what was measured', () => {
  const kept = join(import.meta.dirname, '../bench/results/overload')
  for (const name of readdirSync(kept).filter(file => file.endsWith('.json'))) {
    const result = JSON.parse(readFileSync(join(kept, name), 'utf8')) as ScenarioResult
    const wording = JSON.parse(JSON.stringify(wordingOf(workloadOf(result)!, result.measured, result)))
    for (const key of ['standings', 'finding', 'overviews', 'tables', 'plots'] as const)
      assert.deepEqual(result[key], wording[key], `${name}, ${key}: node bench/overload.ts --report rewrites it`)
  }
})

test('every row in which an arm is above and to the left of meltproof has a reason', () => {
  const index = readFileSync(join(import.meta.dirname, '../docs/scoreboard.md'), 'utf8')
  const [, table = ''] = index.split(/^## Above and to the left of meltproof$/m)
  const rows = table.split(/^## /m)[0]!.match(/^\| \[.*\|$/gm) ?? []
  const why = 'add the reason to `ahead` of the workload in workloads.ts, then node bench/overload.ts --report'
  for (const row of rows) assert.match(row, /\| [A-Za-z][^|]{40,} \|$/, `${row}: ${why}`)
})

for (const [args, message] of [
  [['--workload', 'stepz'], /--workload knows steps, .*; got 'stepz'/],
  [['--loads', '1,x'], /--loads takes numbers above 0; got '1,x'/],
] as const) {
  test(`${args.join(' ')} is rejected before anything is measured`, () => {
    const main = join(import.meta.dirname, '../bench/overload.ts')
    const { status, stderr } = spawnSync(process.execPath, ['--no-warnings', main, ...args], { encoding: 'utf8' })
    assert.equal(status, 2)
    assert.match(stderr, message)
  })
}
