/** The recovery of an app, from made-up seconds: no app and no clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wordingOf } from '../../src/experiment/run-scenario.ts'
import { Histogram } from '../../src/load/histogram.ts'
import type { LoadOutcome } from '../../src/load/plan.ts'
import type { Recovery } from '../../src/melt/measured.ts'
import { checkOptions } from '../../src/melt/options.ts'
import {
  backInWords,
  judgedRecoveries,
  recoveryFrom,
  recoveryOf,
  recoveryPlan,
  spikeInWords,
} from '../../src/melt/recovery.ts'
import { secondOf } from '../../src/melt/summary.ts'
import { meltView } from '../../src/melt/view.ts'
import { pictureSvg } from '../../src/report/plot-svg.ts'
import { arms, type Made, madeMeasured, outcome, second } from './fixture.ts'

const shape = { beforeS: 2, spike: 10, spikeS: 2, afterS: 8, retries: 2 }
const well: Made = { good: 100 }
const melting: Made = { late: 60, failed: 940 }

function inTime(count: number): Histogram {
  const made = new Histogram()
  for (let n = 0; n < count; n++) made.record(5)
  return made
}

/** The recovery from two seconds before a spike, two during it, and those of `after`, whose last entry repeats. */
function recovery(
  after: readonly Made[],
  more: Partial<LoadOutcome> = {},
  before: Made = well,
  died = false,
  speed: number | null = null,
): Recovery {
  const rest = Array.from({ length: shape.afterS }, (_, at) => after[at] ?? after.at(-1)!)
  const seconds = [before, before, melting, melting, ...rest].map((made, at) => second(at, made))
  const made = outcome(seconds)
  const seen = {
    outcome: { ...made, clean: { ...made.clean, ok: inTime(made.good) }, ...more },
    ...{ died: died ? { afterMs: 1, how: 'was killed' } : null, foreign: 0 },
    coreSpeed: () => speed,
  }
  return recoveryOf('bare', shape, seen, { sloMs: 1000, capacity: { coreSpeed: 1 } })
}

test('an app is back from the first of three good seconds in a row', () => {
  const backAfterS = (...after: Made[]): number | null => recovery(after).backAfterS
  assert.equal(backAfterS(well), 0)
  assert.equal(backAfterS(melting, melting, well), 2)
  // Late answers do not count in a second without load, and one late answer in a hundred is not melting.
  assert.equal(backAfterS(melting, {}, { good: 99, late: 1 }, well), 1)
  assert.equal(backAfterS({ good: 98, late: 2 }, well), 1)
  assert.equal(backAfterS({ good: 98, shed: 2 }, well), 1)
  assert.equal(backAfterS(melting, well, well, melting), null)
  // Three good seconds are required, and only two remain.
  assert.equal(backAfterS(melting, melting, melting, melting, melting, well), 5)
  assert.equal(backAfterS(melting, melting, melting, melting, melting, melting, well), null)
})

test('the recovery and the spike are described in words', () => {
  const words = (each: Recovery): string => backInWords(each, shape)
  assert.equal(words(recovery([well])), 'back at once')
  assert.equal(words(recovery([melting, well])), 'back after 1 s')
  assert.equal(words(recovery([melting])), 'not back within 5 s')
  assert.equal(words(recovery([well], {}, well, true)), 'dead')
  assert.equal(spikeInWords(shape), '2 s at 10x from clients that retry twice')
  assert.equal(spikeInWords({ ...shape, retries: 0 }), '2 s at 10x')
  assert.equal(spikeInWords({ ...shape, retries: 3 }), '2 s at 10x from clients that retry 3 times')
})

test('recovery is unsure if the app was late before the spike, or the generator was late', () => {
  assert.equal(recovery([well]).unsure, null)
  assert.equal(recovery([melting], {}, { good: 90, late: 10 }).unsure, 'it was late before the spike')
  const { clean } = outcome([])
  assert.equal(recovery([melting], { clean: { ...clean, ok: inTime(2000) } }).unsure, 'the generator itself was late')
  // A late generator can only make the app look worse, but unsent requests make it look better.
  assert.equal(recovery([well], { clean: { ...clean, ok: inTime(2000) } }).unsure, null)
  assert.equal(recovery([well], { unsent: 100 }).unsure, 'the generator itself was late')
})

test('an app that is not back at once on a core that became slower is not judged', () => {
  const slow = (after: Made, speed: number | null, died = false): string | null =>
    recovery([after], {}, well, died, speed).unsure
  const why = 'the server’s core was slower than while the capacity was measured'
  assert.equal(slow(melting, 0.7), why)
  assert.equal(slow(melting, 0.88), why)
  assert.deepEqual([slow(melting, 0.95), slow(melting, null)], [null, null])
  assert.deepEqual([slow(well, 0.7), slow(melting, 0.7, true)], [null, null], 'it is back, or dead')
})

test('requests due just before a silence wait in it, so the second before those shows whether the app was late', () => {
  const silence = { ...shape, beforeS: 3, spike: 0.8, retries: 0, isOutage: true } as const
  const late: Made = { good: 90, late: 10 }
  const unsure = (...before: readonly Made[]) =>
    recoveryFrom('bare', silence, {
      seconds: [...before, melting, melting, ...Array<Made>(8).fill(well)].map((made, at) =>
        secondOf(second(at, made), 1000),
      ),
      ...{ died: false, isDisturbed: false, isCoreSlow: false, isGeneratorLate: () => false },
    }).unsure
  assert.equal(unsure(well, well, late), null)
  assert.equal(unsure(well, late, late), 'it was late even with its dependency')
  assert.equal(spikeInWords(silence), '2 s without its dependency')
})

const measured = (bare: Recovery, guarded: Recovery, more = {}) =>
  madeMeasured({ recovery: { shape, arms: [bare, { ...guarded, arm: 'protected' }] }, ...more })

test('the view shows recovery in the verdicts, the finding, a table and a plot', () => {
  const { standings, finding, tables, plots } = meltView(measured(recovery([melting]), recovery([melting, well])), arms)
  assert.deepEqual(
    standings?.map(({ says, tone }) => [says, tone]),
    [
      ['melts at 2x, not back within 5 s', 'bad'],
      ['holds to 10x, back after 1 s', 'good'],
      ['melts at 2x', 'bad'],
    ],
  )
  assert.match(
    finding,
    / After 2 s at 10x from clients that retry twice, the bare app is not back within 5 s and the protected app is back after 1 s\.$/,
  )
  assert.deepEqual(
    tables[1]!.rows.map(({ cells }) => cells),
    [
      ['bare', 'not back within 5 s', '8,000', '0', '480', '0', '7,520'],
      ['protected', 'back after 1 s', '1,700', '700', '60', '0', '940'],
    ],
  )
  const svg = pictureSvg(plots[1]!, arms, finding)
  assert.equal(svg.match(/<polyline class="line"/g)?.length, 2)
  assert.match(svg, />-4 s<[\s\S]*>0 s</)
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/)
})

test('an app that holds but does not recover has a bad verdict', () => {
  const rows = madeMeasured().rows.map(row => ({ ...row, goodput: Math.min(row.offered, 190), ofCapacity: 190 / 195 }))
  const of = (bare: Recovery) => meltView(measured(bare, recovery([well]), { rows }), arms)
  const { standings, finding } = of(recovery([well]))
  assert.deepEqual([standings![0]!.says, standings![0]!.tone], ['holds to 10x, back at once', 'good'])
  assert.match(finding, /the bare app is back at once and the protected app is back at once\.$/)
  const [bare] = of(recovery([melting])).standings!
  assert.deepEqual([bare!.says, bare!.tone], ['holds to 10x, not back within 5 s', 'bad'])
})

test('there is no verdict on recovery if the capacity fell below the load, or the machine was busy', () => {
  const all = (after: number) =>
    judgedRecoveries(
      measured(recovery([melting]), recovery([well]), {
        capacity: { ...madeMeasured().capacity!, before: 200, after },
      }),
    )
  assert.equal(all(190)?.arms.length, 2)
  assert.equal(all(175), undefined)
  const conditions = { cores: 2, foreign: { mean: 1, worst: 2 } } as Parameters<typeof wordingOf>[2]['conditions']
  const melt = {
    ...{ title: '', story: '', arms, published: [], expects: [] },
    view: (of: never) => meltView(of, arms),
  }
  const wording = wordingOf(melt as never, measured(recovery([melting]), recovery([well])), {
    ...{ form: 'full', incomplete: false },
    conditions,
  })
  assert.match(wording.finding, /^No verdict: the machine was busy[^R]*$/)
  assert.ok(wording.standings!.every(({ says }) => says === 'no verdict'))
})

test('recovery is the median of several rounds, and the worse of two', () => {
  const rounds = (...all: Recovery[]): number | null =>
    judgedRecoveries(madeMeasured({ recovery: { shape, arms: all } }))!.arms[0]!.backAfterS
  assert.equal(rounds(recovery([melting]), recovery([well]), recovery([melting, well])), 1)
  assert.equal(rounds(recovery([well]), recovery([melting])), null)
  // An unsure round does not count.
  assert.equal(rounds(recovery([well]), recovery([melting], {}, melting)), 0)
})

test('the recovery load has three phases: before, spike and after', () => {
  const options = checkOptions(
    {
      ...{ slo: '1s', rounds: '1', startTimeout: '1s', spacing: 'even', method: 'GET', out: '' },
      ...{ also: [], header: [], recovery: true },
    },
    ['node', 'server.js'],
  )
  const plan = recoveryPlan({ ...options, url: 'http://127.0.0.1:1/' }, 200, options.recovery!)
  assert.ok(plan.arrival.kind === 'open')
  assert.equal(plan.arrival.retries, 2)
  assert.deepEqual(
    plan.arrival.schedule.phases.map(phase => [phase.kind === 'constant' ? phase.rate : undefined, phase.durationMs]),
    [
      [160, 2000],
      [2000, 3000],
      [160, 18_000],
    ],
  )
})
