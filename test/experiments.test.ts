/**
 * The committed results: the current scripts would measure them in the same way, their sentences follow from their
 * measurements, and the page and the pictures match the output of `npm run experiments:page`.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { markdownReport } from '../packages/lab/src/commands/report.ts'
import { wordingOf } from '../packages/lab/src/experiment/run-scenario.ts'
import { scriptDigest } from '../packages/lab/src/experiment/script-digest.ts'
import type { Plot, ScenarioResult } from '../packages/lab/src/report/result.ts'
import { catalogue } from '../packages/lab/src/scenarios/catalogue.ts'

const ROOT = path.join(import.meta.dirname, '..')
const FOLDER = path.join(ROOT, 'bench/results/experiments')

const results = readdirSync(FOLDER)
  .filter(name => name.endsWith('.json'))
  .map(name => JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')) as ScenarioResult)

interface Figure {
  readonly words: string
  readonly value: number
  readonly digits: number
  /** Empty for a plain number and for a rate. */
  readonly unit: string
}

/** `1,950/s`, `94 %`, `3.02 s`, `10x`; small plain numbers are words. */
function figuresIn(text: string): Figure[] {
  return [...text.matchAll(/(?<![\w.-])(\d+(?:,\d{3})*(?:\.\d+)?)(?: ?(%|ms\b|s\b|x\b|MB\b))?/g)].map(
    ([words, number, unit]) => {
      const plain = number!.replaceAll(',', '')
      return { words, value: Number(plain), digits: plain.split('.')[1]?.length ?? 0, unit: unit ?? '' }
    },
  )
}

const SMALL = 10

function drawn(plot: Plot): number[] {
  if (plot.kind === 'bars') return plot.groups.flatMap(({ bars }) => bars.map(({ value }) => value))
  if (plot.kind === 'points') return plot.panels.flatMap(panel => panel.points.map(({ y }) => y))
  const lines = plot.kind === 'lines' ? plot.series : plot.panels.flatMap(panel => panel.lines)
  return lines.flatMap(({ points }) => points.map(([, y]) => y ?? Number.NaN))
}

function armsIn(plot: Plot): readonly { readonly arm: string }[] {
  if (plot.kind === 'bars') return plot.groups.flatMap(({ bars }) => bars)
  if (plot.kind === 'points') return plot.panels.flatMap(panel => panel.points)
  return plot.kind === 'lines' ? plot.series : plot.panels
}

/** Figures of the text that are not in the tables, plots, verdicts or conditions of the experiment. */
function unproven(text: string, result: ScenarioResult): string[] {
  const told = [
    result.story,
    ...result.tables.flatMap(({ note = '', rows }) => [note, ...rows.flatMap(row => row.cells)]),
    ...result.verdicts.map(verdict => verdict.measured),
    ...result.arms.map(arm => arm.what),
  ].flatMap(figuresIn)
  const values = result.plots.flatMap(drawn)
  // `99 of 100` is the name of a quantile.
  return figuresIn(text.replace('99 of 100', 'most'))
    .filter(({ value, digits, unit }) => {
      if (unit === '' && value <= SMALL) return false
      const reads = (other: number): boolean => other.toFixed(digits) === value.toFixed(digits)
      const isTold = told.some(other => (unit === '' || other.unit === unit) && reads(other.value))
      const isDrawn = values.some(other => reads(other) || (unit === 's' && reads(other / 1000)))
      return !isTold && !isDrawn
    })
    .map(({ words }) => words)
}

test('every scenario has a result', () => {
  assert.deepEqual(results.map(({ name }) => name).sort(), catalogue.map(({ name }) => name).sort())
})

for (const result of results) {
  const scenario = catalogue.find(({ name }) => name === result.name)!
  const { incomplete, conditions, measured } = result

  test(`${result.name}: was measured by the present script and apps`, () => {
    const again = 'npm run experiments measures it again'
    assert.equal(conditions.script, scriptDigest(result.name), again)
    assert.equal(incomplete, false)
  })

  test(`${result.name}: all texts and plots match what was measured`, () => {
    const wording = JSON.parse(JSON.stringify(wordingOf(scenario, measured, result)))
    for (const key of Object.keys(wording)) {
      assert.deepEqual(
        result[key as keyof ScenarioResult],
        wording[key],
        `${key}: npm run experiments:page rewrites it`,
      )
    }
  })

  test(`${result.name}: each published figure has our figure beside it, or the reason why we have none`, () => {
    for (const { what, ours } of result.published) assert.match(ours ?? '', /\w{3}/, what)
  })

  test(`${result.name}: every figure of its finding and of its verdicts was measured`, () => {
    const strip = (result.standings ?? []).map(({ says, figure, of }) => `${says} ${figure} ${of}`)
    assert.ok(strip.length > 1, 'a verdict for each arm')
    for (const text of [result.finding, ...strip]) assert.deepEqual(unproven(text, result), [], text)
  })

  test(`${result.name}: verdicts have figures, and plots name their arms`, () => {
    for (const { name, measured } of result.verdicts) assert.match(measured, /\d|named|Meltproof\w/, name)
    const arms = new Set(result.arms.map(arm => arm.name))
    for (const plot of result.plots) {
      for (const { arm } of armsIn(plot)) assert.ok(arms.has(arm), `${plot.title}: ${arm}`)
    }
  })
}

test('a figure without support in the result is found', () => {
  const result = results.find(({ name }) => name === 'burst')!
  const [, kept, percent] = /keeps (\d+), (\d+) %/.exec(result.finding)!
  for (const figure of [kept!, `${percent} %`]) {
    const wrong = figure.replace(/\d+/, number => String(7 * Number(number) + 1))
    assert.deepEqual(unproven(result.finding.replace(figure, wrong), result), [wrong])
  }
})

test('pages and pictures match the results', t => {
  const docs = mkdtempSync(path.join(tmpdir(), 'experiments-'))
  t.after(() => rmSync(docs, { recursive: true, force: true }))
  const index = markdownReport([FOLDER], path.join(docs, 'images'), path.join(docs, 'experiments'))
  const again = 'npm run build && npm run experiments:page writes it'
  assert.equal(readFileSync(path.join(ROOT, 'docs/experiments.md'), 'utf8'), index, again)
  assert.deepEqual(readdirSync(path.join(ROOT, 'docs/experiments')), readdirSync(path.join(docs, 'experiments')))
  for (const folder of ['images', 'experiments']) {
    for (const name of readdirSync(path.join(docs, folder))) {
      const committed = readFileSync(path.join(ROOT, 'docs', folder, name), 'utf8')
      assert.equal(committed, readFileSync(path.join(docs, folder, name), 'utf8'), `${name}: ${again}`)
    }
  }
})
