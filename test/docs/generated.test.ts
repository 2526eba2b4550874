/** Generated pages have no missing values, and say when figures on them are not comparable. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import type { AppResult } from '../../apps/runner/results.ts'
import type { Conditions } from '../../bench/lib/conditions.ts'
import { costsPage } from '../../bench/lib/costs-page.ts'
import type { ScenarioResult } from '../../packages/lab/src/report/result.ts'
import { PAGES, ROOT } from './pages.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const json = <T>(path: string): T => JSON.parse(read(path)) as T
const results = <T>(pattern: string): T[] =>
  globSync(pattern, { cwd: ROOT })
    .sort()
    .map(path => json<T>(path))

/** Text that a program prints for a missing value, and links that only an editor resolves. */
const HOLES = /\bundefined\b|\bNaN\b|\[object |\{@link/

test('no generated page contains undefined, NaN or an unresolved link', () => {
  const generated = PAGES.filter(page => page.generated)
  assert.ok(generated.length >= 35, `${generated.length} pages`)
  const holes = generated.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => (HOLES.test(line) ? [`${path}:${i + 1} ${line}`] : [])),
  )
  assert.deepEqual(holes, [])
})

test('the pattern for undefined, NaN and unresolved links finds each of them', () => {
  for (const text of ['for undefined s in', '| 3461 |  NaN |', '[object Object]', 'see {@link limit}']) {
    assert.match(text, HOLES)
  }
  assert.doesNotMatch('a banana', HOLES)
})

describe('a table whose figures come from several commits says so', () => {
  for (const [page, folder] of [
    ['docs/scoreboard.md', 'overload'],
    ['docs/experiments.md', 'experiments'],
  ] as const) {
    test(page, () => {
      const origins = Map.groupBy(
        results<ScenarioResult>(`bench/results/${folder}/*.json`),
        ({ conditions: { commit, labVersion, cpu } }) => `${commit ?? labVersion} on ${cpu}`,
      )
      const text = read(page)
      assert.equal(text.includes('Compare within a row only'), origins.size > 1)
      if (origins.size === 1) return
      for (const [origin, those] of origins) {
        const [line] = new RegExp(`^- ${origin.replace(/[()]/g, '\\$&')}: .*$`, 'm').exec(text) ?? assert.fail(origin)
        assert.deepEqual(line.split(': ')[1]!.split(', ').sort(), those.map(({ name }) => name).sort())
      }
    })
  }

  test('docs/apps.md', () => {
    const text = read('docs/apps.md')
    const apps = results<AppResult>('apps/results/*.json')
    const commits = new Set(apps.flatMap(({ checks }) => Object.values(checks).map(({ runtime }) => runtime)))
    assert.equal(text.includes('cells are of several commits'), commits.size > 1)
    for (const { title, checks } of apps) {
      for (const { runtime } of Object.values(checks)) {
        const line = text.split('\n').find(each => each.startsWith('- ') && each.includes(`meltproof at ${runtime},`))
        assert.ok(line?.includes(title), `${title}: ${runtime}`)
      }
    }
  })

  for (const page of ['docs/alternatives.md', 'docs/costs.md']) {
    test(page, () => assert.match(read(page), /Compare within a row only|compare within a row only/))
  }

  test('docs/costs.md: each row has the day and the machine of its result', () => {
    const page = costsPage(name => json(`bench/results/${name}.json`))
    assert.equal(read('docs/costs.md'), page, 'node bench/write-docs.ts writes it')
    const rows = read('docs/costs.md')
      .split('\n')
      .filter(line => /^\| \[.*\]\((?:#|\w+\.md)/.test(line))
    assert.ok(rows.length >= 10, `${rows.length} rows`)
    const { cost } = json<{ cost: Record<string, Conditions> }>('bench/results/outbound.json')
    const measured = [...results<Partial<Conditions>>('bench/results/*.json'), ...Object.values(cost)]
    const origins = measured.map(({ date, cpu }) => `${date}, ${cpu}`)
    for (const row of rows) assert.ok(origins.includes(row.split('|').at(-2)!.trim()), row)
  })
})

test('every result of the lab has a page, and every page a result', () => {
  for (const [folder, from] of [
    ['scoreboard', 'overload'],
    ['experiments', 'experiments'],
  ] as const) {
    const names = (pattern: string, end: string): string[] =>
      globSync(pattern, { cwd: ROOT })
        .map(path => basename(path, end))
        .sort()
    assert.deepEqual(names(`docs/${folder}/*.md`, '.md'), names(`bench/results/${from}/*.json`, '.json'))
  }
})
