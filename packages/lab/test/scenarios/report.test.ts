/** A scenario's page, pictures and text, drawn from a made-up result. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scenarioHtml } from '../../src/report/scenario/html.ts'
import { scaleOf } from '../../src/report/scenario/plot-frame.ts'
import { pictureSvg, plotSvg } from '../../src/report/scenario/plot-svg.ts'
import type { BarsPlot, LinesPlot, ScenarioResult } from '../../src/report/scenario/result.ts'
import { scenarioText, tableText } from '../../src/report/scenario/text.ts'
import { scenarioCss } from '../../src/report/scenario/write.ts'

const arms = [
  { name: 'bare', kind: 'bare', what: 'no limit' },
  { name: 'meltproof', kind: 'protected', what: 'install({ totalMs: 3000 })' },
] as const

const lines: LinesPlot = {
  kind: 'lines',
  title: 'Waiting on the backend',
  x: { label: 'time', unit: 's' },
  y: { label: 'requests', unit: 'count' },
  series: [
    {
      arm: 'bare',
      points: [
        [0, 0],
        [1, 400],
        [2, null],
        [3, 1000],
      ],
    },
    {
      arm: 'meltproof',
      points: [
        [0, 0],
        [3, 300],
      ],
    },
  ],
  levels: [{ value: 500, name: 'half' }],
}
const bars: BarsPlot = {
  kind: 'bars',
  title: 'p99',
  y: { label: 'latency', unit: 'ms', scale: 'log' },
  groups: [
    {
      label: 'faulty',
      bars: [
        { arm: 'bare', value: 10_100 },
        { arm: 'meltproof', value: 3002 },
      ],
    },
  ],
}

const result = (more: Partial<ScenarioResult> = {}): ScenarioResult => ({
  kind: 'scenario',
  version: 1,
  name: 'made-up',
  title: 'Made up',
  story: 'A backend is slow.',
  form: 'quick',
  startedAt: '2026-01-02T03:04:05.000Z',
  elapsedMs: 60_000,
  incomplete: false,
  certified: true,
  why: [],
  conditions: {
    commandLine: 'meltlab run made-up',
    labVersion: '0.1.0',
    node: 'v24.0.0',
    platform: 'Linux x64',
    cpu: 'a CPU',
    cores: 2,
    memoryBytes: 8e9,
    pinning: { server: 1, dependency: 0, lab: 0 },
    foreign: { mean: 0.02, worst: 0.1 },
  },
  arms,
  published: [{ what: 'mean', value: '1.173 s' }],
  verdicts: [
    { name: 'the limit holds', verdict: 'pass', measured: 'p99 3.00 s' },
    { name: 'it is cheap', verdict: 'fail', measured: '9 %' },
    { name: 'it is fast', verdict: 'not judged', measured: 'the machine was busy' },
  ],
  finding: 'With a limit, p99 is 3 s <instead of> 10 s.',
  tables: [{ title: 'Figures', columns: ['arm', 'p99'], rows: [{ arm: 'bare', cells: ['bare', '10.1 s'] }] }],
  plots: [lines, bars],
  printouts: [{ title: 'siege', text: 'Transactions: 5 hits' }],
  measured: {},
  ...more,
})

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
  const html = scenarioHtml(result(), scenarioCss())
  assert.match(html, /<h1>With a limit, p99 is 3 s &lt;instead of&gt; 10 s\.<\/h1>/)
  for (const words of ['the limit holds', 'not judged', 'Transactions: 5 hits', '1.173 s', 'meltlab run made-up']) {
    assert.ok(html.includes(words), words)
  }
  assert.match(html, /badge sure">certified/)
  assert.doesNotMatch(html, /<script|<(img|iframe)[^>]+src=|<link[^>]+href="(?!data:)|@import|url\(/)
})

test('an incomplete run says so', () => {
  const cut = result({ incomplete: true, certified: false, why: ['the run was cut short: stopped by Ctrl-C'] })
  assert.match(scenarioHtml(cut, ''), /badge doubt">incomplete/)
  assert.match(scenarioText(cut), /INCOMPLETE[\s\S]*stopped by Ctrl-C/)
})

test('the terminal shows finding, table, printout and verdicts', () => {
  const text = scenarioText(result())
  for (const words of [
    'p99 is 3 s',
    '10.1 s',
    '  Transactions: 5 hits',
    'FAIL  it is cheap',
    'not judged: the machine',
  ]) {
    assert.ok(text.includes(words), `${words} in\n${text}`)
  }
  const [head, rule] = tableText(result().tables[0]!).split('\n').slice(1)
  assert.equal(head!.length, rule!.length)
})
