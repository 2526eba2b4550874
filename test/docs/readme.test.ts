/** Both READMEs: the first screen, the picture, and figures that match the committed results and each other. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readmePicture } from '../../bench/readme-picture.ts'
import type { ScenarioResult } from '../../packages/lab/src/report/result.ts'
import { OURS } from '../../packages/lab/src/scenarios/overload/workloads.ts'
import { blocksOf } from './blocks.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const READMES = ['README.md', 'README.zh-CN.md'] as const
const burst = JSON.parse(read('bench/results/experiments/burst.json')) as ScenarioResult

for (const file of READMES) {
  test(`${file}: the first screen has the picture, the install line, protect(server) and the two commands`, () => {
    const screen = read(file).split('\n').slice(0, 40).join('\n')
    assert.match(screen, /!\[.+\]\(docs\/images\/readme\.svg\)/)
    assert.match(screen, /^npm i meltproof$/m)
    assert.match(screen, /^protect\(server\)/m)
    assert.match(screen, /^npm ci && npm run demo\nnpm ci && npm test$/m)
  })

  test(`${file}: the figures of the burst experiment match its result`, () => {
    const [, kept, share] = /protected, it keeps (\d+), (\d+ %)/.exec(burst.finding)!
    const measured = burst.tables.flatMap(({ columns, rows }) => (columns[0] === 'capacity' ? rows : []))
    const capacity = Number.parseFloat(measured[0]!.cells[0]!)
    const paragraph = read(file)
      .split('\n\n')
      .find(text => text.includes('docs/experiments/burst.md'))!
    for (const figure of [`${capacity}`, kept!, share!]) {
      assert.ok(paragraph.includes(` ${figure}`), `${figure} is not in: ${paragraph}`)
    }
  })

  test(`${file}: says in how many rows of the scoreboard another arm is as good or better`, () => {
    const board = [...scores(read('docs/scoreboard.md')).values()]
    const paragraph = read(file)
      .split('\n\n')
      .find(text => text.includes('docs/alternatives.md'))!
    const said = [...paragraph.matchAll(/(?<![\d.])\d+(?= (?:of|rows|行))|(?<=the )\d+/g)].map(Number)
    assert.deepEqual(new Set(said), new Set([board.filter(isMatched).length, board.length]), paragraph)
  })

  test(`${file}: the limitations have the figures of the pages they link`, () => {
    const [, passed, apps] = /(\d+) of (\d+) pass every check/.exec(read('docs/apps.md'))!
    const [, unseen] = /^\| thirty .*?\| ([\d.]+ %)/m.exec(read('docs/admission-results.md'))!
    const paragraph = (page: string): string =>
      read(file)
        .split(/\n(?=- )/)
        .findLast(text => text.includes(`(${page})`))!
    assert.ok(paragraph('docs/admission-results.md').includes(unseen!), `${unseen}: docs/admission-results.md`)
    const [table] = burst.tables
    const kept = table!.rows
      .filter(({ arm, cells }) => arm === 'protected' && Number.parseFloat(cells[1]!) >= 2)
      .map(({ cells }) => Number.parseFloat(cells[table!.columns.indexOf('of capacity')]!))
    const [least, most] = [Math.min(...kept), Math.max(...kept)]
    assert.match(read(file), new RegExp(`${least} (?:to|到) ${most} %`), 'docs/experiments/burst.md')
    for (const figure of [passed!, apps!])
      assert.match(paragraph('docs/apps.md'), new RegExp(`\\b${figure}\\b`), 'docs/apps.md')
  })

  test(`${file}: costs and p99 match the results`, () => {
    const results = <T>(name: string): T => JSON.parse(read(`bench/results/${name}.json`)) as T
    const cell = (page: string): string[] => {
      const line = read(file)
        .split('\n')
        .find(each => each.startsWith('| [') && each.includes(page))!
      return line.split('|').slice(2, -1)
    }
    const [hello] = results<{ cases: { bareUs: number; protectedUs: number }[] }>('overhead').cases
    const [bare, guarded] = cell('docs/costs.md#what-it-costs-when-nothing-is-wrong')
    assert.deepEqual(
      [Number.parseFloat(bare!), Number.parseFloat(guarded!)],
      [hello!.bareUs, hello!.protectedUs].map(round1),
    )
    const { idle } = results<{ idle: { nothing: number; observed: number } }>('observed')
    for (const share of [idle.nothing, idle.observed]) {
      assert.ok(cell('docs/costs.md#observing')[1]!.includes(`${(100 * share).toFixed(2)} %`), `${share}`)
    }
    const { arms } = results<{ arms: Record<string, { cpuMs: number; rssMb: number }> }>('start')
    const started = cell('docs/costs.md#the-start').map(text => text.match(/\d+/g)!.map(Number))
    assert.deepEqual(
      started,
      ['a server as an ES module', 'a server as an ES module, `protect()`'].map(name =>
        [arms[name]!.cpuMs, arms[name]!.rssMb].map(Math.round),
      ),
    )
    const steps = results<ScenarioResult>('overload/overload-steps').tables.find(
      ({ columns }) => columns[1] === 'load',
    )!
    const [load, p99] = ['load', 'admitted p99'].map(name => steps.columns.indexOf(name))
    const rows = read(file).matchAll(/^\| ([\d.]+x) \| (.*) \| (.*) \| (.*) \|$/gm)
    const shown = [...rows].flatMap(([, at, ...cells]) =>
      ['bare', 'overload-protection', 'meltproof'].map((arm, i) => [arm, at, cells[i]]),
    )
    assert.ok(shown.length >= 15)
    for (const [arm, at, said] of shown) {
      const row = steps.rows.find(each => each.arm === arm && each.cells[load!] === at)!
      assert.equal(/\d/.test(said!) ? said : '–', row.cells[p99!], `${arm} ${at}`)
    }
  })

  test(`${file}: names the Node version for services and that for development once each`, () => {
    const { engines } = JSON.parse(read('packages/meltproof/package.json')) as { engines: { node: string } }
    const { engines: development } = JSON.parse(read('package.json')) as { engines: { node: string } }
    const text = read(file)
    assert.deepEqual([engines.node, development.node], ['>=22.12', '>=20'])
    assert.deepEqual(text.match(/22\.12/g), ['22.12'])
    assert.deepEqual(text.match(/Node 20\b/g), ['Node 20'])
    assert.ok(text.split(/\n\n/).some(paragraph => paragraph.includes('22.12') && paragraph.includes('Node 20')))
  })
}

test('docs/alternatives.md has rows of the scoreboard, including all in which another arm is as good or better', () => {
  const shown = scores(read('docs/alternatives.md'))
  const board = scores(read('docs/scoreboard.md'))
  assert.ok(shown.size >= 10, `${shown.size} rows`)
  for (const [row, cells] of shown) {
    const those = [...cells.keys()].map(arm => [arm, board.get(row)?.get(arm)] as const)
    assert.deepEqual(cells, new Map(those), `${row}: see docs/scoreboard.md`)
  }
  for (const [row, cells] of board) {
    if (isMatched(cells)) assert.ok(shown.has(row), `${row}: another arm is as good as meltproof`)
  }
})

test('README.zh-CN.md makes no stronger promises than README.md, and uses 集群 only for node:cluster', () => {
  const chinese = read('README.zh-CN.md')
  for (const word of ['零配置', '不丢请求', '雪上加霜']) assert.ok(!chinese.includes(word), word)
  for (const line of chinese.split('\n')) if (line.includes('集群')) assert.match(line, /node:cluster/)
})

test('both READMEs have the same code, commands, links and figures', () => {
  const [english, chinese] = READMES.map(file => facts(file))
  assert.ok(english!.code.length >= 3 && english!.inline.length >= 8 && english!.figures.length >= 20)
  assert.deepEqual(chinese, english)
})

test('the picture of the README matches the committed result', () => {
  assert.equal(read('docs/images/readme.svg'), readmePicture(burst), 'run node bench/readme-picture.ts')
})

test('the picture of the README is readable on a phone 360 px wide, in light and dark mode', () => {
  const picture = readmePicture(burst)
  const width = Number(/viewBox="0 0 (\d+)/.exec(picture)![1])
  const sizes = [...picture.matchAll(/font-size:(\d+)px/g)].map(([, size]) => (Number(size) * (360 - 2 * 16)) / width)
  assert.ok(sizes.length >= 2 && Math.min(...sizes) >= 13, `${sizes}`)
  const words = [...picture.matchAll(/>([^<>]+)<\/text>/g)].flatMap(([, text]) => text!.split(' '))
  assert.ok(words.length < 24, `${words.length} words`)
  assert.match(picture, /prefers-color-scheme:dark/)
})

const round1 = (value: number): number => Number(value.toFixed(1))

/** Shares by arm. */
type Scores = ReadonlyMap<string, string>

/** Whether a rival is at least as good as meltproof in this row. */
function isMatched(row: Scores): boolean {
  const shareOf = (arm: string): number => Number.parseFloat(row.get(arm)!)
  return [...row.keys()].some(arm => !OURS.includes(arm) && shareOf(arm) >= shareOf('meltproof'))
}

/** Rows of the tables of goodput by workload, which are above the table of p99: `name load` -> shares. */
function scores(text: string): Map<string, Scores> {
  const rows = new Map<string, Scores>()
  let arms: readonly string[] = []
  for (const line of text.split(/^## Admitted p99$/m)[0]!.split('\n')) {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('**', ''))
    if (cells.includes('bare')) arms = cells.slice(cells.indexOf('bare'), cells.indexOf('meltproof') + 1)
    const [, name] = /\]\(scoreboard\/([\w-]+)\.md\)/.exec(cells[0] ?? '') ?? []
    if (name === undefined || !/^[\d.]+x$/.test(cells[1] ?? '')) continue
    rows.set(`${name} ${cells[1]}`, new Map(arms.map((arm, at) => [arm, cells[2 + at]!])))
  }
  return rows
}

function facts(file: string) {
  const text = read(file)
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '')
  const sorted = (pattern: RegExp): string[] => [...new Set(prose.match(pattern) ?? [])].sort()
  return {
    code: blocksOf(text).map(({ language, code }) => `${language}: ${code.replace(/ *\/\/.*$/gm, '')}`),
    inline: sorted(/`[^`]+`/g),
    links: sorted(/\]\((?!README)[^)]+\)/g),
    figures: sorted(/(?<![\w.#%-])\d[\d.]*(?:x\b| %| us\b)?/g),
  }
}
