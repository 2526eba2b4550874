import assert from 'node:assert/strict'
import { test } from 'node:test'
import { htmlReport } from '../../src/report/html.ts'
import { stylesOf } from '../../src/report/palette.ts'
import { curveSvg, spread, ticksUpTo } from '../../src/report/svg.ts'
import { loadAssets } from '../../src/report/write.ts'
import { madeResult } from './fixture.ts'

test('the picture is one well-formed SVG with a line, marks and a name per arm, and the ideal', () => {
  const svg = curveSvg(madeResult())
  assert.equal(svg.match(/<polyline class="line"/g)?.length, 3)
  assert.equal(svg.match(/<polyline class="ideal"/g)?.length, 1)
  for (const name of ['bare', 'protected', 'toobusy-js']) assert.match(svg, new RegExp(`>${name}</text>`))
  assert.match(svg, /prefers-color-scheme:dark/)
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
  assert.doesNotMatch(svg.replace('xmlns="http://www.w3.org/2000/svg"', ''), /https?:/)
  const opened = svg.match(/<(svg|g|text|title|style)(\s[^>]*[^/])?>/g)?.length
  assert.equal(opened, svg.match(/<\/(svg|g|text|title|style)>/g)?.length)
})

test('a run without figures still has a picture', () => {
  assert.match(curveSvg(madeResult({ capacity: null, rows: [] })), /Nothing was measured/)
})

test('names at the line ends keep their distance and stay inside', () => {
  const ys = (tops: readonly number[]) => spread(tops.map(y => ({ y }))).map(label => label.y)
  for (const tops of [
    [430, 430, 430],
    [112, 112, 115],
    [300, 120],
    [430, 428, 113, 112],
  ]) {
    const placed = ys(tops).sort((a, b) => a - b)
    for (const [i, y] of placed.slice(1).entries()) assert.ok(y - placed[i]! >= 20 - 1e-9, `${placed}`)
    assert.ok(placed[0]! >= 112 && placed.at(-1)! <= 430, `${placed}`)
  }
})

test('ticks are round and stay below the top', () => {
  assert.deepEqual(ticksUpTo(210), [0, 50, 100, 150, 200])
  assert.deepEqual(ticksUpTo(21_000), [0, 5000, 10_000, 15_000, 20_000])
  assert.deepEqual(ticksUpTo(0.7), [0, 0.2, 0.4, 0.6])
})

test('arms differ in more than colour', () => {
  const also = { kind: 'also' } as const
  const styles = stylesOf([{ kind: 'bare' }, { kind: 'protected' }, also, also, also])
  const looks = styles.map(style => `${style.mark} ${style.dash}`)
  assert.equal(new Set(looks).size, styles.length)
})

test('the page says the finding, shows every figure, and asks nobody for anything', () => {
  const html = htmlReport(madeResult(), loadAssets())
  assert.match(html, /<h1>At 10x its capacity, the bare app melts/)
  assert.match(html, /badge sure">certified/)
  assert.equal(html.match(/<tr>/g)?.length, 1 + 15)
  assert.match(html, /NODE_OPTIONS=&#39;|NODE_OPTIONS='/)
  // What a browser would fetch; addresses in uPlot's licence comment are text.
  assert.doesNotMatch(html, /<(script|img|iframe)[^>]+src=|<link[^>]+href="(?!data:)|@import|url\(\s*["']?https?:/)
})

test('names from the user can not break out of the page', () => {
  const html = htmlReport(madeResult({ name: '</script><img src=x onerror=alert(1)>' }), loadAssets())
  assert.doesNotMatch(html, /<img/)
})

test('an incomplete run says so and why, with or without figures', () => {
  const cut = { incomplete: true, certified: false, why: ['the run was cut short: stopped by Ctrl-C'] }
  assert.match(htmlReport(madeResult(cut), loadAssets()), /Why this run is incomplete/)
  const nothing = htmlReport(madeResult({ ...cut, capacity: null, rows: [], steps: [] }), loadAssets())
  assert.match(nothing, /Nothing was measured/)
  assert.doesNotMatch(nothing, /<table>/)
})
