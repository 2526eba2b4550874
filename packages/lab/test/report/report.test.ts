/** A scenario's page, pictures and text, drawn from a made-up result. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scenarioHtml } from '../../src/report/html.ts'
import { markdownPage } from '../../src/report/markdown-page.ts'
import { stylesOf } from '../../src/report/palette.ts'
import { bottomScale, keepApart, scaleOf, ticksUpTo, withoutTouching } from '../../src/report/plot-frame.ts'
import { pictureSvg, plotSvg } from '../../src/report/plot-svg.ts'
import { scenarioText, tableText } from '../../src/report/text.ts'
import { scenarioCss } from '../../src/report/write.ts'
import { arms, bars, lines, madeResult } from './made-result.ts'

const wellFormed = (svg: string): void => {
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
  const opened = svg.match(/<(svg|g|text|title|style)(\s[^>]*[^/])?>/g)?.length
  assert.equal(opened, svg.match(/<\/(svg|g|text|title|style)>/g)?.length)
}

test('a line per arm with a gap where nothing was measured, names at the ends, levels', () => {
  const svg = plotSvg(lines, arms)
  wellFormed(svg)
  assert.equal(svg.match(/<polyline class="line"/g)?.length, 2) // of bare's stretches only one has two points
  for (const name of ['bare', 'meltproof', 'half']) assert.match(svg, new RegExp(`>${name}</text>`))
})

test('bars carry their values and a legend; the picture brings its colours', () => {
  const svg = pictureSvg(bars, arms, 'A headline that says it')
  wellFormed(svg)
  assert.match(svg, />10.1 s<\/text>/)
  assert.match(svg, />A headline that says it<\/text>/)
  assert.match(svg, /prefers-color-scheme:dark/)
})

test('plots of nothing are empty, not broken', () => {
  wellFormed(plotSvg({ ...lines, series: [] }, arms))
  wellFormed(plotSvg({ ...bars, groups: [] }, arms))
})

test('a log axis has whole decades around the values', () => {
  const { ticks, to } = scaleOf({ label: '', unit: 'ms', scale: 'log' }, [30, 4000], 100, 0)
  assert.deepEqual(ticks, [10, 100, 1000, 10_000])
  assert.ok(Math.abs(to(10) - 100) < 1e-9 && Math.abs(to(10_000)) < 1e-9)
})

test('the page says finding, verdicts, figures and conditions, escapes, and asks nobody for anything', () => {
  const html = scenarioHtml(madeResult(), scenarioCss())
  assert.match(html, /<h1>With a limit, p99 is 3 s &lt;instead of&gt; 10 s\.<\/h1>/)
  for (const words of ['the limit holds', 'not judged', 'Transactions: 5 hits', '1.173 s', 'meltlab run made-up']) {
    assert.ok(html.includes(words), words)
  }
  assert.match(html, /badge sure">certified/)
  assert.doesNotMatch(html, /<script|<(img|iframe)[^>]+src=|<link[^>]+href="(?!data:)|@import|url\(/)
})

test('an incomplete run says so', () => {
  const cut = madeResult({ incomplete: true, certified: false, why: ['the run was cut short: stopped by Ctrl-C'] })
  assert.match(scenarioHtml(cut, ''), /badge doubt">incomplete/)
  assert.match(scenarioText(cut), /INCOMPLETE[\s\S]*stopped by Ctrl-C/)
})

test('the terminal shows finding, table, printout and verdicts', () => {
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
  const [head, rule] = tableText(madeResult().tables[0]!).split('\n').slice(1)
  assert.equal(head!.length, rule!.length)
})

test('names at the line ends keep their distance and stay inside', () => {
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

test('ticks are round and stay below the top, and those that would touch are left out', () => {
  assert.deepEqual(ticksUpTo(210), [0, 50, 100, 150, 200])
  assert.deepEqual(ticksUpTo(21_000), [0, 5000, 10_000, 15_000, 20_000])
  assert.deepEqual(ticksUpTo(0.7), [0, 0.2, 0.4, 0.6])
  assert.deepEqual(
    withoutTouching([0.5, 1, 2, 6, 10], x => 60 * x, 34),
    [1, 2, 6, 10],
  )
})

test('a logarithmic axis along the bottom is as long as its values', () => {
  const { to, ticks } = bottomScale({ label: '', unit: 'rate', scale: 'log' }, [20, 200, 2000], 0, 100)
  assert.deepEqual([20, 200, 2000].map(to), [0, 50, 100])
  assert.deepEqual(ticks, [100, 1000])
})

test('arms differ in more than colour', () => {
  const also = { kind: 'also' } as const
  const styles = stylesOf([{ kind: 'bare' }, { kind: 'protected' }, also, also, also])
  const looks = styles.map(style => `${style.mark} ${style.dash}`)
  assert.equal(new Set(looks).size, styles.length)
})

test('Markdown: a line for each result, its figures, and long tables folded away', () => {
  const page = markdownPage([madeResult()], 'images')
  assert.match(page, /\| \[made-up\]\(#made-up\) \| With a limit/)
  assert.match(page, /!\[Made up\]\(images\/experiment-made-up\.svg\)/)
  assert.match(page, /\| it is cheap \| \*\*not as expected\*\* \| 9 % \|/)
})
