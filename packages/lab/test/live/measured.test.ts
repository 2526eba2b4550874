/** The report of a live run, from the counts of the generator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LiveMeasured, type LiveSide, rowsOf, secondsOf } from '../../src/live/measured.ts'
import { liveView, whyUnjudged } from '../../src/live/view.ts'
import { Histogram } from '../../src/load/histogram.ts'
import type { LoadOutcome, LoadSecond } from '../../src/load/plan.ts'
import { plotSvg } from '../../src/report/plot-svg.ts'

const arms = [
  { name: 'bare', kind: 'bare' },
  { name: 'protected', kind: 'protected' },
] as const
const CAPACITY = 100
const loads = [...Array<number>(7).fill(0.5), null, ...Array<number>(8).fill(10)]

function second(at: number, scheduled: number, good: number): LoadSecond {
  const okLatency = new Histogram()
  for (let each = 0; each < good; each++) okLatency.record(20)
  return {
    ...{ second: at, scheduled, sent: scheduled, good },
    answered: { 200: good, 503: scheduled - good },
    failed: {},
    okLatency,
    shedLatency: new Histogram(),
  }
}

function side(arm: string, most: number): LiveSide {
  const seconds = loads.map((load, at) => {
    const due = (load ?? 5) * CAPACITY
    return second(at, due, Math.min(due, due > CAPACITY ? most : due))
  })
  return { arm, outcome: { seconds } as unknown as LoadOutcome }
}

const sides = [side('bare', 0), side('protected', 90)]
const measured = (over: Partial<LiveMeasured> = {}): LiveMeasured => ({
  setup: { request: 'GET /', connections: 'keep-alive', sloMs: 1000, timeoutMs: 2000, cores: 'one core' },
  capacity: { rate: CAPACITY, given: false, after: 104 },
  seconds: secondsOf(sides, loads, 1000),
  rows: rowsOf(sides, loads, 1000, CAPACITY),
  died: {},
  ...over,
})

test('rows cover the settled seconds of each load, without the incomplete last second', () => {
  assert.deepEqual(
    measured().rows.map(row => [row.arm, row.multiple, row.seconds, row.offered, row.goodput, row.ofCapacity]),
    [
      ['bare', 0.5, 6, 50, 50, 0.5],
      ['bare', 10, 5, 1000, 0, 0],
      ['protected', 0.5, 6, 50, 50, 0.5],
      ['protected', 10, 5, 1000, 90, 0.9],
    ],
  )
  assert.equal(measured().seconds.length, 15)
  assert.equal(measured().seconds[8]!.sides['protected']!.admittedP99Ms, 20)
})

test('the report has a verdict on each side, the finding at the highest load, and goodput plotted against load', () => {
  const { standings, finding, plots, tables } = liveView(measured(), arms)
  assert.deepEqual(
    standings!.map(({ arm, says, tone, figure, of }) => [arm, says, tone, figure, of]),
    [
      ['bare', 'melts at 10x', 'bad', '0/s', 'good at 10x'],
      ['protected', 'holds to 10x', 'good', '90/s', 'good at 10x'],
    ],
  )
  assert.equal(
    finding,
    'At 10x its capacity, the bare app melts to 0 good answers a second; protected, it keeps 90, 90 % of what it can do.',
  )
  const [curve] = plots
  assert.ok(curve?.kind === 'lines')
  assert.deepEqual([curve.title, curve.x.scale, curve.x.ticks], ['Goodput against offered load', 'log', [0.5, 10]])
  assert.equal(tables[0]!.rows.length, 4)
})

test('at a load below capacity, the finding gives the share of the load that was answered', () => {
  const low = measured().rows.filter(row => row.multiple < 1)
  assert.equal(
    liveView(measured({ rows: low }), arms).finding,
    'At 0.5x its capacity, the bare app keeps 50 good answers a second (100 % of the load) and the protected one 50 good answers a second (100 % of the load).',
  )
})

test('a load held for only two settled seconds is shown but not judged', () => {
  const rows = measured().rows.map(row => (row.multiple === 10 ? { ...row, seconds: 2, goodput: 74 } : row))
  const { standings, finding, tables } = liveView(measured({ rows }), arms)
  assert.deepEqual(
    standings!.map(({ says }) => says),
    ['holds to 0.5x', 'holds to 0.5x'],
  )
  assert.match(finding, /^At 0\.5x/)
  assert.equal(tables[0]!.rows.length, 4)
  const brief = liveView(measured({ rows: rows.filter(row => row.multiple === 10) }), arms)
  assert.match(brief.finding, /^No load was held for 5 s after it had settled/)
})

test('answers missed because of a previous higher load do not count against the lower load after it', () => {
  // At 20x for four seconds, then at half of its capacity, where it answers nothing for four more seconds.
  const held = [...Array<number>(4).fill(20), null, ...Array<number>(12).fill(0.5)]
  const outcome = (from: number) =>
    ({
      seconds: held.map((load, at) => second(at, (load ?? 5) * CAPACITY, load === 0.5 && at >= from ? 50 : 0)),
    }) as unknown as LoadOutcome
  const low = (from: number) =>
    rowsOf([{ arm: 'bare', outcome: outcome(from) }], held, 1000, CAPACITY).find(row => row.multiple === 0.5)
  assert.deepEqual([low(9)?.seconds, low(9)?.goodput], [7, 50])
  // If it never recovers, the zeros count in the end.
  assert.equal(low(99)?.goodput, 0)
})

test('there is no verdict if the searches disagree, the warm-up was not steady, or a load was answered faster', () => {
  const why = (capacity: object, best = 90) =>
    whyUnjudged({ rate: CAPACITY, given: false, after: null, searches: [98, 102], isSteady: true, ...capacity }, best)
  assert.equal(why({}), undefined)
  assert.match(why({ searches: [50, 70, 100, 150] })!, /^its capacity is not steady: successive searches found 50, /)
  assert.match(
    why({ isSteady: false })!,
    /^its capacity is not steady: its rate still changed after the longest warm-up; check whether/,
  )
  assert.match(why({}, 130)!, /^a load was answered at 130\/s, more than the capacity of 100\/s/)
  assert.equal(why({ after: 81 }), undefined)
  assert.match(why({ after: 79 })!, /^the capacity drifted by 27 % during the run, from 100, then 79\/s/)
  assert.equal(why({ whyNoAfter: 'it exited' }), 'the capacity could not be measured again: it exited')
  // A given capacity is not doubted, and older results do not record the warm-up.
  assert.equal(why({ given: true, searches: undefined }, 130), undefined)
  assert.equal(why({ isSteady: undefined }), undefined)
  const found = { rate: CAPACITY, given: false, after: 100, searches: [98, 102], isSteady: false }
  assert.match(liveView(measured({ capacity: found }), arms).unjudged!, /its rate still changed/)
})

test('the report says what the capacity was before the load and after it', () => {
  const note = (given: boolean, after: number | null) =>
    liveView(measured({ capacity: { rate: CAPACITY, given, after } }), arms).tables[0]!.note!
  assert.match(note(false, 90), /100\/s before the load, .* protected one; 90\/s after it, of processes started anew\./)
  assert.match(note(false, null), /; not measured after it\./)
  assert.match(note(true, null), /100\/s, as given\./)
})

test('the offered load is drawn once, because it is the same for both sides', () => {
  const plot = liveView(measured(), arms).plots.find(({ title }) => title === 'Offered load')
  assert.ok(plot?.kind === 'lines')
  assert.deepEqual(plot.series, [])
  assert.deepEqual(plot.guide!.points.slice(5, 8), [
    [5, 0.5],
    [6, 0.5],
    [8, 10],
  ])
  assert.doesNotMatch(plotSvg(plot, [], ['wide', 'narrow']), /NaN|undefined|Infinity/)
})

test('the verdict on a side whose process ended is that it died, with the load at that time', () => {
  const { standings } = liveView(measured({ died: { bare: { how: 'exited with code 7', load: 5 } } }), arms)
  assert.deepEqual(
    standings!.map(({ says, tone }) => [says, tone]),
    [
      ['dies at 5x', 'bad'],
      ['holds to 10x', 'good'],
    ],
  )
})

test('the finding of a run that ended before any load was held says so', () => {
  assert.equal(liveView(measured({ capacity: null }), arms).finding, 'Nothing was measured before the run ended.')
  const brief = liveView(measured({ rows: [] }), arms)
  assert.match(brief.finding, /^No load was held for 5 s/)
  assert.deepEqual([brief.tables, brief.plots.length], [[], 3])
  assert.deepEqual(secondsOf(sides, [], 1000), [])
})
