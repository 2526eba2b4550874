/** A scenario's page, pictures and text, drawn from a made-up result. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scenarioHtml } from '../../src/report/html.ts'
import { markdownIndex, markdownPage, markdownPageOf } from '../../src/report/markdown-page.ts'
import {
  bottomScale,
  keepApart,
  rowsWithoutTouching,
  scaleOf,
  thinned,
  ticksUpTo,
  withoutTouching,
} from '../../src/report/plot-frame.ts'
import { stylesOf } from '../../src/report/plot-parts.ts'
import { pictureSvg, plotSvg } from '../../src/report/plot-svg.ts'
import type { LinesPlot } from '../../src/report/result.ts'
import { scenarioText } from '../../src/report/text.ts'
import { tableText } from '../../src/report/text-table.ts'
import { scenarioCss } from '../../src/report/write.ts'
import { arms, bars, lines, madeResult } from './made-result.ts'
import { millionRequests, SHAPES } from './million.ts'

const BOTH = ['wide', 'narrow'] as const

const wellFormed = (svg: string): void => {
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
  const opened = svg.match(/<(svg|g|text|title|style)(\s[^>]*[^/])?>/g)?.length
  assert.equal(opened, svg.match(/<\/(svg|g|text|title|style)>/g)?.length)
}

test('a plot has a line per arm, with gaps where nothing was measured, and labels at the ends', () => {
  const svg = plotSvg(lines, arms, ['wide'])
  wellFormed(svg)
  assert.equal(svg.match(/<polyline class="line"/g)?.length, 2) // only one stretch of bare has two points
  for (const name of ['bare', 'meltproof', 'half']) assert.match(svg, new RegExp(`>${name}</text>`))
})

test('bars have values and a legend, and a standalone picture includes its colours', () => {
  const svg = pictureSvg(bars, arms, 'A headline that says it')
  wellFormed(svg)
  assert.match(svg, />10.1 s<\/text>/)
  assert.match(svg, />A headline that says it<\/text>/)
  assert.match(svg, /prefers-color-scheme:dark/)
})

test('every SVG has an accessible name', () => {
  for (const svg of [plotSvg(lines, arms, BOTH), pictureSvg(bars, arms, 'A headline')]) {
    const all = svg.match(/<svg /g)?.length
    assert.equal(svg.match(/<svg [^>]*role="img" aria-label="[^"]+"/g)?.length, all)
  }
})

test('a phone gets narrow plots with a legend and horizontal bars', () => {
  const [wide, narrow] = plotSvg(bars, arms, BOTH).split('</svg>\n')
  assert.match(wide!, /only-wide" viewBox="0 0 960 /)
  assert.match(narrow!, /only-narrow" viewBox="0 0 420 /)
  for (const drawn of [wide!, narrow!])
    for (const words of ['10.1 s', 'bare', 'faulty']) assert.ok(drawn.includes(words))
  const widths = [...narrow!.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width))
  assert.ok(widths[0]! > widths[1]!, 'the longer time has the longer bar')
})

const steps: LinesPlot = {
  kind: 'lines',
  title: 'Goodput',
  x: { label: 'load', unit: 'multiple', scale: 'log', ticks: [0.5, 1, 1.1, 1.2, 2, 10] },
  y: { label: 'answers', unit: 'rate' },
  series: [{ arm: 'bare', points: [0.5, 1, 1.1, 1.2, 2, 10].map(load => [load, 100 * load] as const) }],
}

test('every step has a label and a mark, however close to the next', () => {
  for (const svg of [plotSvg(steps, arms, ['wide']), plotSvg(steps, arms, ['narrow'])]) {
    for (const label of ['0.5x', '1x', '1.1x', '1.2x', '2x', '10x']) assert.match(svg, new RegExp(`>${label}</text>`))
    assert.equal(svg.match(/: [\d.,]+\/s at /g)?.length, 6)
  }
})

test('labels are placed in as many rows as needed, but no more', () => {
  const rows = (...places: number[]): number[] =>
    rowsWithoutTouching(
      places.map(at => ({ at })),
      () => 10,
    ).map(({ row }) => row)
  assert.deepEqual(rows(0, 10, 20), [0, 0, 0])
  assert.deepEqual(rows(0, 5, 10, 12, 14), [0, 1, 0, 2, 3])
})

test('plots without data are still valid SVG', () => {
  wellFormed(plotSvg({ ...lines, series: [] }, arms, BOTH))
  wellFormed(plotSvg({ ...bars, groups: [] }, arms, BOTH))
})

test('a log axis covers whole decades around the values', () => {
  const { ticks, to } = scaleOf({ label: '', unit: 'ms', scale: 'log' }, [30, 4000], 100, 0)
  assert.deepEqual(ticks, [10, 100, 1000, 10_000])
  assert.ok(Math.abs(to(10) - 100) < 1e-9 && Math.abs(to(10_000)) < 1e-9)
})

test('the page has the finding, verdicts, figures and conditions, escapes them, and loads nothing else', () => {
  const html = scenarioHtml(madeResult(), scenarioCss())
  assert.match(html, /<h1>With a limit, p99 is 3 s &lt;instead of&gt; 10 s\.<\/h1>/)
  for (const words of ['the limit holds', 'not judged', 'Transactions: 5 hits', '1.173 s', 'meltlab run made-up']) {
    assert.ok(html.includes(words), words)
  }
  assert.match(html, /<b class="badge sure">certified/)
  assert.doesNotMatch(html, /<script|<(img|iframe)[^>]+src=|<link[^>]+href="(?!data:)|@import|url\(/)
})

test('pages name the Node version of the app, or that of the lab if it is unknown', () => {
  const made = madeResult()
  const of = (...appNode: string[]) => madeResult({ conditions: { ...made.conditions, appNode } })
  const two = of('v22.12.0 (bare)', 'v20.19.0 (old)')
  for (const [result, html, markdown] of [
    [made, 'Node v24.0.0, meltlab 0.1.0', 'Node v24.0.0,'],
    [of('v22.12.0'), 'Node v22.12.0; meltlab 0.1.0 on Node v24.0.0', 'Node v22.12.0,'],
    [
      two,
      'Node v22.12.0 (bare) and v20.19.0 (old); meltlab 0.1.0 on Node v24.0.0',
      'Node v22.12.0 (bare) and v20.19.0 (old),',
    ],
  ] as const) {
    assert.ok(scenarioHtml(result, '').includes(`<dt>Software</dt><dd>${html}</dd>`), html)
    assert.ok(markdownPage([result], 'images').includes(`; meltlab 0.1.0, ${markdown} 2 cores of a CPU`), markdown)
  }
})

test('the verdict on each arm comes first, and the doubts are folded', () => {
  const html = scenarioHtml(madeResult({ certified: false, why: ['one', 'two'] }), '')
  const order = ['class="strip"', '<h1>', 'class="plot lead"', '<p class="lede">', 'What was expected', '<table']
  const places = order.map(words => html.indexOf(words))
  assert.ok(!places.includes(-1), `${places}`)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.match(html, /<strong class="says"><span aria-hidden="true">✗<\/span> waits<\/strong>.*<b>10\.1 s<\/b> p99/)
  assert.match(html, /<details class="badge doubt"><summary>not certified: 2 reasons/)
  const older = madeResult()
  delete (older as { standings?: unknown }).standings
  assert.doesNotMatch(scenarioHtml(older, ''), /class="strip"/)
})

test('table cells are labelled for a phone, and every row names its arm for screen readers', () => {
  const rows = [
    { arm: 'bare', cells: ['bare', '10.1 s'] },
    { arm: 'bare', cells: ['', '9.9 s'] },
  ]
  const html = scenarioHtml(madeResult({ tables: [{ title: 'Figures', columns: ['arm', 'p99'], rows }] }), '')
  assert.equal(html.match(/<td role="cell" data-label="p99">/g)?.length, 2)
  assert.match(html, /<span class="unseen">bare<\/span>/)
})

test('the page and the text of an incomplete run say so', () => {
  const cut = madeResult({ incomplete: true, certified: false, why: ['the run ended early: stopped by Ctrl-C'] })
  assert.match(scenarioHtml(cut, ''), /<summary>incomplete: 1 reason<\/summary><ul><li>the run ended early/)
  assert.match(scenarioText(cut), /INCOMPLETE[\s\S]*stopped by Ctrl-C/)
})

test('the terminal report shows the finding, the table, the printout and the verdicts', () => {
  const text = scenarioText(madeResult())
  for (const words of [
    'p99 is 3 s',
    '10.1 s',
    '  Transactions: 5 hits',
    'FAIL  it is cheap',
    'not judged: the machine',
  ]) {
    assert.ok(text.includes(words), `${words} in\n${text}`)
  }
  const [head, rule] = tableText(madeResult().tables[0]!, 80).split('\n').slice(1)
  assert.equal(head!.length, rule!.length)
})

test('the terminal report ends with the verdicts, in colour if colour is on', () => {
  const text = scenarioText(madeResult(), { paint: (style, words) => `<${style}>${words}</>` })
  const last = text.split('\n').slice(-2)
  assert.deepEqual(last, [
    '<bold>bare     </>  <red>✗ waits  </>  <bold>10.1 s</> p99',
    '<bold>meltproof</>  <green>✓ ends it</>  <bold>3.00 s</> p99',
  ])
  assert.match(text, /<green>pass<\/> {2}the limit holds/)
})

test('the terminal report fits the width for any result', () => {
  const long = 'A sentence about figures that goes on, as sentences of people who measure do. '.repeat(3).trim()
  const columns = ['arm', ...Array.from({ length: 12 }, (_, at) => `a figure ${at}`), 'what was said']
  const cells = ['meltproof', ...Array.from({ length: 12 }, () => '1,234,567/s'), long]
  const wide = madeResult({
    finding: long,
    why: [long, long],
    certified: false,
    verdicts: [{ name: long, verdict: 'fail', measured: long }],
    tables: [
      { title: 'Figures', note: long, columns, rows: [{ arm: 'meltproof', cells }] },
      { title: 'Words', columns: ['arm', 'told'], rows: [{ arm: 'bare', cells: ['bare', long] }] },
    ],
  })
  for (const width of [60, 80, 120]) {
    const lines = scenarioText(wide, { width }).split('\n')
    assert.deepEqual(
      lines.filter(line => line.length > width),
      [],
    )
    assert.ok(
      lines.some(line => line.length > width - 12),
      'the room is used',
    )
  }
  assert.match(scenarioText(wide), /\(in the report: [^)]*what was said\)/)
})

test('labels at the line ends keep their distance and stay inside the plot', () => {
  for (const tops of [
    [350, 350, 350],
    [46, 46, 49],
    [300, 120],
    [350, 348, 47, 46],
  ]) {
    const placed = keepApart(
      tops.map(y => ({ y })),
      46,
      352,
      19,
    ).map(label => label.y)
    for (const [i, y] of placed.slice(1).entries()) assert.ok(y - placed[i]! >= 19 - 1e-9, `${placed}`)
    assert.ok(placed[0]! >= 46 && placed.at(-1)! <= 352, `${placed}`)
  }
})

test('ticks are round numbers below the maximum, and overlapping ones are left out', () => {
  assert.deepEqual(ticksUpTo(210), [0, 50, 100, 150, 200])
  assert.deepEqual(ticksUpTo(21_000), [0, 5000, 10_000, 15_000, 20_000])
  assert.deepEqual(ticksUpTo(0.7), [0, 0.2, 0.4, 0.6])
  assert.deepEqual(
    withoutTouching([0.5, 1, 2, 6, 10], x => 60 * x, 34),
    [1, 2, 6, 10],
  )
})

test('a logarithmic x axis spans exactly its values', () => {
  const { to, ticks } = bottomScale({ label: '', unit: 'rate', scale: 'log' }, [20, 200, 2000], 0, 100)
  assert.deepEqual([20, 200, 2000].map(to), [0, 50, 100])
  assert.deepEqual(ticks, [100, 1000])
})

test('thinned() keeps the outline of points in the same pixel column', () => {
  const few = [
    [0, 1],
    [1, 5],
    [1.2, 3],
    [2, 2],
  ] as const
  assert.deepEqual(thinned(few), few)
  const many = [
    [4, 3],
    [4.1, 9],
    [4.2, 5],
    [4.3, -2],
    [4.4, 4],
    [5, 0],
  ] as const
  assert.deepEqual(thinned(many), [
    [4, 3],
    [4.1, 9],
    [4.3, -2],
    [4.4, 4],
    [5, 0],
  ])
})

test('arms are distinguishable without colour', () => {
  const also = { kind: 'also' } as const
  const styles = stylesOf([{ kind: 'bare' }, { kind: 'protected' }, also, also, also, also, also, also])
  const looks = styles.map(style => `${style.mark} ${style.dash}`)
  assert.equal(new Set(looks).size, styles.length)
})

test('the Markdown page has a row for each result, its verdicts and published figures', () => {
  const page = markdownPage([madeResult()], 'images')
  assert.match(page, /\| \[made-up\]\(#made-up\) \| With a limit/)
  assert.match(page, /!\[Made up\]\(images\/experiment-made-up\.svg\)/)
  assert.match(page, /\| it is cheap \| \*\*not as expected\*\* \| 9 % \|/)
  assert.match(page, /\| published \| figure \| here \|\n.*\n\| mean \| 1\.173 s \| 1\.096 s \|/)
  assert.match(scenarioHtml(madeResult(), scenarioCss()), /1\.173 s<br>here: 1\.096 s/)
  assert.doesNotMatch(page, /has changed since/)
  assert.match(markdownPage([{ ...madeResult(), older: true }], 'images'), /The experiment has changed since then/)
})

type Made = ReturnType<typeof madeResult>

test('the Markdown index links one page per result, and warns if versions differ', () => {
  const [one, two] = ['one', 'two'].map(name => madeResult({ name })) as [Made, Made]
  assert.match(
    markdownIndex([one, two], 'found'),
    /\| \[one\]\(found\/one\.md\) \|[\s\S]*\| \[two\]\(found\/two\.md\) \|/,
  )
  assert.doesNotMatch(markdownIndex([one, two], 'found'), /Compare within a row/)
  const later = { ...two, conditions: { ...two.conditions, labVersion: 'abc1234' } }
  assert.match(
    markdownIndex([one, later], 'found'),
    /\*\*Compare within a row only\.\*\*[\s\S]*\n- abc1234 on .*: two\n/,
  )
  const page = markdownPageOf(one, '../images', '../found.md')
  assert.match(
    page,
    /^# one\n\nWritten by `meltlab report --markdown`; not by hand\. \[The others\]\(\.\.\/found\.md\)\./,
  )
  assert.match(page, /!\[Made up\]\(\.\.\/images\/experiment-one\.svg\)/)
})

for (const [shape, of] of Object.entries(SHAPES)) {
  test(`the page of 1,000,000 requests is below 2 MB: ${shape}`, () => {
    const bytes = Buffer.byteLength(scenarioHtml(millionRequests(of), scenarioCss()))
    assert.ok(bytes < 2e6, `${bytes} bytes`)
  })
}
