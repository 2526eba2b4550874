/** Both READMEs: the first screen, the picture, and figures that are those of the committed results and of each other. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readmePicture } from '../../bench/readme-picture.ts'
import type { ScenarioResult } from '../../packages/lab/src/report/result.ts'
import { blocksOf } from './blocks.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const READMES = ['README.md', 'README.zh-CN.md'] as const
const burst = JSON.parse(read('bench/results/experiments/burst.json')) as ScenarioResult

for (const file of READMES) {
  test(`${file}: the first screen has the picture, the line, the figure and the two commands`, () => {
    const screen = read(file).split('\n').slice(0, 40).join('\n')
    assert.match(screen, /!\[.+\]\(docs\/images\/readme\.svg\)/)
    assert.match(screen, /^npm i meltproof$/m)
    assert.match(screen, /^protect\(server\)/m)
    assert.match(screen, /^npm ci && npm run demo\nnpm ci && npm test$/m)
  })

  test(`${file}: its figure is that of the burst experiment`, () => {
    const [, kept, share] = /protected, it keeps (\d+), (\d+ %)/.exec(burst.finding)!
    const measured = burst.tables.flatMap(({ columns, rows }) => (columns[0] === 'capacity' ? rows : []))
    const capacity = Number.parseFloat(measured[0]!.cells[0]!)
    const paragraph = read(file)
      .split('\n\n')
      .find(text => text.includes('docs/experiments.md#burst'))!
    for (const figure of [`${capacity}`, kept!, share!]) {
      assert.ok(paragraph.includes(` ${figure}`), `${figure} is not in: ${paragraph}`)
    }
  })

  test(`${file}: the tables of rivals are rows of the scoreboard, with every row in which another is as good or better`, () => {
    const shown = scores(read(file), 'docs/scoreboard.md')
    const board = scores(read('docs/scoreboard.md'), '')
    assert.ok(shown.size >= 10, `${shown.size} rows`)
    for (const [row, cells] of shown)
      assert.deepEqual(cells, board.get(row)?.slice(0, 5), `${row}: see docs/scoreboard.md`)
    for (const [row, cells] of board) {
      const [ours, ...others] = [cells[4]!, ...cells.slice(0, 4)].map(cell => Number.parseFloat(cell))
      if (others.some(other => other >= ours!)) assert.ok(shown.has(row), `${row}: another arm is as good as meltproof`)
    }
  })

  test(`${file}: what is not promised has the figures of the pages it names`, () => {
    const [, passed, apps] = /(\d+) of (\d+) pass every check/.exec(read('docs/apps.md'))!
    const [, unseen] = /^\| thirty .*?\| ([\d.]+ %)/m.exec(read('docs/admission-results.md'))!
    const paragraph = (page: string): string =>
      read(file)
        .split(/\n(?=- )/)
        .find(text => text.includes(page))!
    assert.ok(paragraph('docs/admission-results.md').includes(unseen!), `${unseen}: docs/admission-results.md`)
    const [table] = burst.tables
    const kept = table!.rows
      .filter(({ arm, cells }) => arm === 'protected' && Number.parseFloat(cells[1]!) >= 2)
      .map(({ cells }) => Number.parseFloat(cells[table!.columns.indexOf('of capacity')]!))
    const [least, most] = [Math.min(...kept), Math.max(...kept)]
    assert.match(read(file), new RegExp(`${least} (?:to|到) ${most} %`), 'docs/experiments.md#burst')
    for (const figure of [passed!, apps!])
      assert.match(paragraph('docs/apps.md'), new RegExp(`\\b${figure}\\b`), 'docs/apps.md')
  })

  test(`${file}: the version of Node that services need, and the one for development, are said once`, () => {
    const { engines } = JSON.parse(read('packages/meltproof/package.json')) as { engines: { node: string } }
    const { engines: development } = JSON.parse(read('package.json')) as { engines: { node: string } }
    const text = read(file)
    assert.deepEqual([engines.node, development.node], ['>=22.12', '>=20'])
    assert.deepEqual(text.match(/22\.12/g), ['22.12'])
    assert.deepEqual(text.match(/Node 20\b/g), ['Node 20'])
    assert.ok(text.split(/\n\n/).some(paragraph => paragraph.includes('22.12') && paragraph.includes('Node 20')))
  })
}

test('both have the same code, commands, links and figures', () => {
  const [english, chinese] = READMES.map(file => facts(file))
  assert.ok(english!.code.length >= 3 && english!.inline.length >= 8 && english!.figures.length >= 20)
  assert.deepEqual(chinese, english)
})

test('the picture is made of the committed result', () => {
  assert.equal(read('docs/images/readme.svg'), readmePicture(burst), 'run node bench/readme-picture.ts')
})

test('the picture is readable on a phone that is 360 px wide, in light and dark', () => {
  const picture = readmePicture(burst)
  const width = Number(/viewBox="0 0 (\d+)/.exec(picture)![1])
  const sizes = [...picture.matchAll(/font-size:(\d+)px/g)].map(([, size]) => (Number(size) * (360 - 2 * 16)) / width)
  assert.ok(sizes.length >= 2 && Math.min(...sizes) >= 13, `${sizes}`)
  const words = [...picture.matchAll(/>([^<>]+)<\/text>/g)].flatMap(([, text]) => text!.split(' '))
  assert.ok(words.length < 24, `${words.length} words`)
  assert.match(picture, /prefers-color-scheme:dark/)
})

/** Rows of a table of goodput by workload: `anchor load` -> the cells of bare, three rivals, meltproof and what follows. */
function scores(text: string, page: string): Map<string, string[]> {
  const rows = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('**', ''))
    const [, target, anchor] = /\]\(([^)#]*)#([\w-]+)\)/.exec(cells[0] ?? '') ?? []
    if (target === page && /^[\d.]+x$/.test(cells[1] ?? '')) rows.set(`${anchor} ${cells[1]}`, cells.slice(2))
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
