/** Cases in which the loads of a run cannot be judged, on recorded figures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPlan } from '../../src/load/check-plan.ts'
import type { DoubtCode, LoadOutcome } from '../../src/load/plan.ts'
import { wordingOf } from '../../src/experiment/run-scenario.ts'
import {
  type CapacityContext,
  ownDriftOf,
  remeasureCapacity,
  searchCapacity,
  untilAgreed,
  warmUp,
} from '../../src/melt/capacity.ts'
import { reasonsToDoubt } from '../../src/melt/doubts.ts'
import type { MeltMeasured, StepResult } from '../../src/melt/measured.ts'
import { standings } from '../../src/melt/standings.ts'
import { rowsOf, summariseStep } from '../../src/melt/summary.ts'
import { offer, offerable } from '../../src/melt/load-plans.ts'
import { whyNoVerdict } from '../../src/melt/no-verdict.ts'
import { checkOptions } from '../../src/melt/options.ts'
import { meltScenario } from '../../src/melt/scenario.ts'
import { armsOf } from '../../src/melt/arms.ts'
import { isCarried } from '../../src/melt/recovery.ts'
import { underLoad } from '../../src/melt/step.ts'
import type { RunningApp } from '../../src/experiment/scenario.ts'
import { keptOf } from '../../src/report/standing.ts'
import { scenarioText } from '../../src/report/text.ts'
import { catalogue } from '../../src/scenarios/catalogue.ts'
import type { ScenarioResult } from '../../src/report/result.ts'
import { madeResult } from '../report/made-result.ts'
import { madeMeasured, outcome, second } from './fixture.ts'

const given = {
  ...{ slo: '1s', rounds: '1', startTimeout: '15s', spacing: 'even', method: 'GET', out: '' },
  ...{ also: [], header: [] },
}
const command = ['node', 'server.js']
const melt = meltScenario({
  ...{ name: 'melt', title: '', story: '', published: [], arms: armsOf(command, []) },
  options: () => checkOptions(given, command),
})
const conditions = (more: Partial<ScenarioResult['conditions']> = {}): ScenarioResult['conditions'] => ({
  ...{ commandLine: '', labVersion: '', node: '', platform: '', cpu: '', cores: 2, memoryBytes: 1, pinning: null },
  ...{ foreign: { mean: 0.01, worst: 0.05 } },
  ...more,
})
const wording = (measured: unknown, more = {}) =>
  wordingOf(melt, measured, { form: 'full', incomplete: false, conditions: conditions(more) })
const capacity = (more: Partial<NonNullable<MeltMeasured['capacity']>>): MeltMeasured =>
  madeMeasured({ capacity: { ...madeMeasured().capacity!, ...more } })

test('the share kept is goodput / load or goodput / capacity, whichever is higher, and 1 without load', () => {
  assert.equal(keptOf({ goodput: 142, offered: 142, ofCapacity: 142 / 1276 }), 1)
  assert.equal(keptOf({ goodput: 95, offered: 1000, ofCapacity: 0.95 }), 0.95)
  assert.equal(keptOf({ goodput: 0, offered: 0, ofCapacity: 0 }), 1)
})

test('a quiet run of a steady app has verdicts', () => {
  const { standings, finding } = wording(capacity({ searches: [190, 195] }))
  assert.deepEqual(
    standings!.map(({ says, tone }) => [says, tone]),
    [
      ['melts at 2x', 'bad'],
      ['holds to 10x', 'good'],
    ],
  )
  assert.match(finding, /the bare app melts to 0/)
})

for (const [what, measured, more, words] of [
  [
    'a capacity of 283/s before and 1,276/s after',
    capacity({ before: 283, after: 1276, rate: 1276, drift: 3.5 }),
    {},
    /^No verdict: the capacity drifted by 351 % during the run, from 283, then 1,276\/s; repeat the run/,
  ],
  [
    'searches that never agree',
    capacity({ searches: [283, 700, 1276, 900] }),
    {},
    /^No verdict: its capacity is not steady: successive searches found 283, then 700, then 1,276, then 900\/s; check whether/,
  ],
  [
    'a load that was answered faster than the capacity',
    { ...capacity({ searches: [190, 195] }), rows: madeMeasured().rows.map(row => ({ ...row, goodput: 1276 })) },
    {},
    /^No verdict: a load was answered at 1,276\/s, more than the capacity of 195\/s/,
  ],
  [
    'a busy machine',
    madeMeasured(),
    { foreign: { mean: 1.5, worst: 1.9 } },
    /^No verdict: the machine was busy: other processes used 150 % of a core on average, 190 % at worst; end them/,
  ],
  [
    'a machine with one core',
    madeMeasured(),
    { cores: 1 },
    /^No verdict: the load and what it measured shared one core/,
  ],
] as const) {
  test(`there is no verdict after ${what}, and the finding says why`, () => {
    const { finding, standings } = wording(measured, more)
    assert.match(finding, words)
    assert.deepEqual(
      standings!.map(({ says, tone }) => [says, tone]),
      [
        ['no verdict', 'none'],
        ['no verdict', 'none'],
      ],
    )
    const painted: string[] = []
    const paint = (style: string, text: string): string => {
      if (style !== 'bold') painted.push(`${style} ${text}`)
      return text
    }
    scenarioText({ ...madeResult(), certified: true, verdicts: [], standings: standings! }, { paint })
    assert.deepEqual(painted, ['dim – no verdict', 'dim – no verdict'])
  })
}

test('a drift of up to a quarter does not suppress the verdict', () => {
  assert.equal(whyNoVerdict({ searches: [200, 210], over: [200, 245], best: 250 }), undefined)
  assert.equal(whyNoVerdict({ over: [200, null], best: 200 }), undefined)
})

test('door has no verdict if its capacities differ, or a load was answered faster than its capacity', () => {
  const unjudged = (...runs: object[]) =>
    catalogue.find(each => each.name === 'door')!.view({ ownCores: true, runs }).unjudged
  const run = { arm: 'told', load: 50, capacity: 200, kept: 0.9, good: [], maxconn: [] }
  assert.equal(unjudged(run), undefined)
  assert.match(unjudged(run, { ...run, capacity: 300 })!, /drifted by 50 %/)
  assert.match(unjudged({ ...run, kept: 1.5 })!, /answered at 300\/s, more than the capacity of 200\/s/)
})

test('fleet has no verdict if it was answered faster than the capacity from which its loads were derived', () => {
  const seconds = [{ due: 600, good: 590, shed: 0, failed: 0, sent: [] }]
  const phase = { due: 600, good: 590, shed: 0, bad: 0, p50Ms: 50, p99Ms: 90, seconds }
  const unjudged = (...capacities: number[]) =>
    catalogue
      .find(each => each.name === 'fleet')!
      .view({
        ...{ form: 'wait', capacities, changesAt: 0, missing: [] },
        runs: [{ arm: 'HAProxy told', steady: phase, change: phase }],
      }).unjudged
  assert.equal(unjudged(200, 200, 200, 50), undefined)
  assert.match(unjudged(100, 100, 100, 50)!, /answered at 590\/s, more than the capacity of 350/)
})

/** A closed loop on an app whose rate is a function of the number of requests answered before. */
function appThat(rateAfter: (answered: number) => number, url = 'http://app/') {
  let answered = 0
  let ms = 0
  const context: CapacityContext = {
    target: { ...checkOptions(given, command), url },
    times: { warmUpMs: 1000, probeMs: 1000, confirmMs: 3000 },
    onProbe() {},
    async run({ arrival }) {
      const lasts = arrival.kind === 'closed' ? arrival.durationMs : 0
      const seconds = Array.from({ length: lasts / 1000 }, (_, at) => {
        const good = Math.round(rateAfter(answered))
        answered += good
        ms += 1000
        return second(at, { good })
      })
      return outcome(seconds)
    },
  }
  return { context, lastedMs: () => ms }
}

test('the capacity of an app that becomes ten times faster is measured after its warm-up', async () => {
  const { rate, searches } = await searchCapacity(appThat(answered => 100 + 900 * Math.min(1, answered / 5000)).context)
  assert.ok(rate > 950, `${rate}/s after ${searches.join()}`)
  assert.equal(whyNoVerdict({ searches, over: [rate], best: rate }), undefined)
})

test('the speed of the core belongs to the seconds that are counted, of a capacity and of a step', async () => {
  const asked: number[] = []
  const speed = {
    between(fromMs: number, toMs: number): number {
      asked.push(Math.round(toMs - fromMs))
      return 3
    },
    stop() {},
  }
  const again = await remeasureCapacity({ ...appThat(() => 200).context, speed }, 4)
  assert.deepEqual([again.coreSpeed, asked.splice(0)], [3, [2000]], 'without the first of three')
  const found = await searchCapacity({ ...appThat(() => 200).context, speed })
  assert.deepEqual([found.coreSpeed, asked.splice(0)], [3, [2000, 2000]], 'of both searches')
  const app = { pid: process.pid, exited: new Promise(() => {}) } as unknown as RunningApp
  const { coreSpeed } = await underLoad(app, { core: undefined, speed }, async () => 'loaded')
  assert.deepEqual([coreSpeed({ from: 1, to: 6 }), asked], [3, [5000]])
})

test('an app that keeps slowing down has no verdict, and the search ends', async () => {
  const app = appThat(answered => 1000 * 0.9995 ** (answered / 10))
  const { searches, rate } = await searchCapacity(app.context)
  assert.match(whyNoVerdict({ searches, over: [rate], best: rate })!, /is not steady/)
  assert.ok(app.lastedMs() < 120_000, `${app.lastedMs()} ms`)
})

test('fast 500 responses do not count towards the capacity, and a load answered with them melts', async () => {
  const app = appThat(() => 195)
  const failing: CapacityContext = {
    ...app.context,
    async run(plan) {
      const { seconds } = await app.context.run(plan)
      const users = plan.arrival.kind === 'closed' ? plan.arrival.users : 0
      // Above ten users it fails, and answers faster than before.
      return outcome(seconds.map(({ second: at }) => second(at, users > 10 ? { errors: 5000 } : { good: 195 })))
    },
  }
  const { rate } = await searchCapacity(failing)
  assert.equal(rate, 195)
  const step = summariseStep({
    ...{ arm: 'bare', multiple: 2, round: 1, window: { from: 0, to: 2 }, sloMs: 1000, died: null, foreign: 0 },
    coreSpeed: () => null,
    outcome: outcome([second(0, { errors: 390 }), second(1, { errors: 390 })]),
    watched: { samples: [], peakRssBytes: 1, cpuMs: 1, watchedMs: 2000 },
  })
  const [standing] = standings(rowsOf([step], ['bare'], { rate }), [{ name: 'bare' }])
  assert.deepEqual([standing!.says, standing!.figure], ['melts at 2x', '0/s'])
})

test('an app whose rate never settled in its warm-up has no verdict, even if the searches agree', async () => {
  let seconds = 0
  const { context } = appThat(() => (seconds++ < 10 ? 100 * (1 + (seconds % 2)) : 195))
  const { searches, rate, isSteady } = await searchCapacity(context)
  assert.deepEqual([rate, searches, isSteady], [195, [195, 195], false])
  const { finding, standings } = wording(capacity({ searches, isSteady }))
  assert.match(
    finding,
    /^No verdict: its capacity is not steady: its rate still changed after the longest warm-up; check whether it still fills/,
  )
  assert.ok(standings!.every(({ says, tone }) => says === 'no verdict' && tone === 'none'))
  const warm = appThat(() => 195).context
  assert.deepEqual([(await remeasureCapacity(warm, 4)).isSteady, (await searchCapacity(warm)).isSteady], [true, true])
  let ms = 0
  const { isSteady: again } = await remeasureCapacity(
    appThat(() => (ms++ < 10 ? 100 * (1 + (ms % 2)) : 195)).context,
    4,
  )
  assert.equal(again, false, 'nor the process at the end')
})

/** A run with one round in which some steps are changed. */
function changed(change: (step: StepResult) => StepResult): MeltMeasured {
  const made = capacity({ searches: [190, 195] })
  const steps = made.steps.map(change)
  return { ...made, steps, rows: rowsOf(steps, ['bare', 'protected', 'toobusy-js'], made.capacity!) }
}
const busyAt =
  (...loads: readonly number[]) =>
  (step: StepResult): StepResult =>
    step.arm === 'bare' && loads.includes(step.multiple)
      ? { ...step, server: { ...step.server, foreignShare: 0.4 } }
      : step
const verdictsOf = (measured: MeltMeasured) => wording(measured).standings!.map(({ says, tone }) => [says, tone])

test('a step during which other processes were busy decides nothing', () => {
  assert.deepEqual(verdictsOf(changed(busyAt(2))), [
    ['melts at 6x', 'bad'],
    ['holds to 10x', 'good'],
  ])
  // Only two loads below the capacity remain, and they do not show whether it melts.
  assert.deepEqual(verdictsOf(changed(busyAt(2, 6, 10))), [
    ['no verdict', 'none'],
    ['holds to 10x', 'good'],
  ])
  const { finding } = wording(changed(busyAt(2, 6, 10)))
  assert.match(finding, /^At 1x its capacity, the bare app keeps 195/, 'it compares what is known of both')
})

const atSpeed = (coreSpeed: number, arm: string, ...loads: readonly number[]) => {
  const made = capacity({ searches: [190, 195], coreSpeed: 2 })
  const steps = made.steps.map(step =>
    step.arm === arm && loads.includes(step.multiple) ? { ...step, server: { ...step.server, coreSpeed } } : step,
  )
  return { ...made, steps, rows: rowsOf(steps, ['bare', 'protected', 'toobusy-js'], made.capacity!) }
}

test('a step is not judged if its core had another speed, and at the speed of the capacity the verdict would differ', () => {
  const half = changed(step => (step.arm === 'protected' ? { ...step, goodput: step.goodput / 1.5 } : step))
  const slow = (coreSpeed: number) =>
    rowsOf(
      half.steps.map(step => ({ ...step, server: { ...step.server, coreSpeed } })),
      ['protected'],
      { rate: 195, coreSpeed: 2 },
    ).find(({ multiple }) => multiple === 10)!.unjudged
  assert.equal(
    slow(1.33),
    'the server’s core was slower than while the capacity was measured, which may be the reason; repeat the run, or use a machine whose cores are not shared',
  )
  assert.deepEqual([slow(1.9), slow(2)], [undefined, undefined], 'it sags on a core as fast')
  assert.match(slow(3)!, /^the server’s core was faster than/, 'or melts, on a core that is no faster')
  // Far above the capacity, an app that answers almost nothing in time has melted at any speed.
  assert.deepEqual(verdictsOf(atSpeed(1.2, 'bare', 2, 6, 10))[0], ['melts at 2x', 'bad'])
  // Far below the capacity, the answered share of the load counts.
  const isJudged = (made: MeltMeasured, arm: string, at: number) =>
    made.rows.find(row => row.arm === arm && row.multiple === at)!.unjudged === undefined
  assert.equal(isJudged(atSpeed(4, 'protected', 0.5), 'protected', 0.5), true)
  assert.equal(isJudged(atSpeed(1.33, 'protected', 0.5), 'protected', 0.5), true)
})

test('a load that another speed of the core puts on the other side of the capacity is not judged', () => {
  const judged = (multiple: number, goodput: number, coreSpeed: number): boolean => {
    const [some] = madeMeasured().steps
    const step = { ...some!, arm: 'bare', multiple, offered: 195 * multiple, goodput }
    const [row] = rowsOf([{ ...step, server: { ...step.server, coreSpeed } }], ['bare'], { rate: 195, coreSpeed: 2 })
    return row!.unjudged === undefined
  }
  // At two thirds of the speed, 0.8x and 1x are overloads, but 0.5x is not.
  assert.deepEqual([judged(0.8, 5, 1.33), judged(1, 5, 1.33), judged(0.5, 5, 1.33)], [false, false, true])
  assert.deepEqual([judged(0.8, 5, 2), judged(0.8, 156, 1.33)], [true, true], 'the same speed; all was answered')
  // At 1.5 times the speed, 1.2x is not an overload, but 2x is.
  assert.deepEqual([judged(1.2, 234, 3), judged(1.2, 5, 3), judged(2, 290, 3)], [false, true, true])
})

test('if no step can be judged, the run has no verdict', () => {
  const all = changed(step => ({ ...step, server: { ...step.server, foreignShare: 0.4 } }))
  const { finding, unjudged } = wording(all)
  assert.match(unjudged!, /^other processes used more than a tenth of the server’s core; end them and repeat the run$/)
  assert.match(finding, /^No verdict: other processes used/)
})

test('rounds in which other processes were busy do not count', () => {
  const [step] = madeMeasured().steps.filter(({ arm, multiple }) => arm === 'protected' && multiple === 10)
  const busy = { ...step!, round: 2, goodput: 10, server: { ...step!.server, foreignShare: 0.9 } }
  const [row] = rowsOf([step!, busy, { ...busy, round: 3 }], ['protected'], { rate: 195 })
  assert.deepEqual([row!.goodput, row!.rounds, row!.unjudged], [191, 1, undefined])
  // Other work on the machine does not excuse a process that died.
  const dead = { ...busy, server: { ...busy.server, died: { afterMs: 900, how: 'exited with code 1' } } }
  assert.deepEqual(
    standings(rowsOf([dead], ['protected'], { rate: 195 }), [{ name: 'protected' }])[0]!.says,
    'dies at 10x',
  )
})

/** A step at half of a capacity of 200/s. Each second answers one of these shares of the load in time. */
const stepOf = (...shares: readonly number[]): StepResult =>
  summariseStep({
    ...{ arm: 'bare', multiple: 0.5, round: 1, window: { from: 1, to: shares.length }, sloMs: 1000 },
    ...{ died: null, foreign: 0.01, watched: { samples: [], peakRssBytes: 1, cpuMs: 1, watchedMs: 1000 } },
    coreSpeed: () => null,
    outcome: outcome(shares.map((share, at) => second(at, { good: 100 * share, late: 100 * (1 - share) }))),
  })
const verdictOn = (...steps: readonly StepResult[]) => {
  const [standing] = standings(rowsOf(steps, ['bare'], { rate: 200 }), [{ name: 'bare' }])
  return [standing!.says, standing!.tone]
}

test('a step that was late only while its process was cold is not judged', () => {
  const cold = stepOf(0, 0, 0, 0.1, 0.2, 0.3, 1, 1, 1)
  assert.deepEqual(verdictOn(cold), ['no verdict', 'none'])
  assert.deepEqual(verdictOn(stepOf(0, 0, 1)), ['no verdict', 'none'], 'as short as with --quick')
  const above = { ...stepOf(0, 0, 0), multiple: 2 }
  assert.deepEqual(verdictOn(cold, above), ['melts at 2x', 'bad'], 'a higher load still decides')
  const why = reasonsToDoubt({ ...madeMeasured(), steps: [cold] })
  assert.deepEqual(why, [
    'bare 0.5x: it answered all at the end and not at the start, as it was cold; use a longer --duration',
  ])
})

test('a step shorter than the warm-up of the app is not judged below the capacity, nor above it if it sags', () => {
  const cold = stepOf(0, 0, 0)
  const rowOf = (step: StepResult, coldMs: number) => rowsOf([step], ['bare'], { rate: 200, coldMs })[0]!
  assert.equal(
    rowOf(cold, 3800).unjudged,
    'it may not have been warm yet, which took up to 3.80 s; use a --duration of at least 6s',
  )
  assert.equal(rowOf(cold, 900).unjudged, undefined, 'it had two seconds in which it was warm')
  assert.equal(rowOf(cold, 0).unjudged, undefined)
  assert.equal(rowOf({ ...cold, multiple: 2 }, 3800).unjudged, undefined, 'more than a warm app can answer')
  const sags = { ...cold, multiple: 4, offered: 800, goodput: 110 }
  for (const goodput of [110, 90, 30]) {
    assert.match(
      rowOf({ ...sags, goodput }, 17_900).unjudged!,
      /^it may not have been warm yet, .* use a --duration of at least 20s$/,
    )
  }
  assert.equal(rowOf({ ...sags, goodput: 190 }, 17_900).unjudged, undefined, 'it holds even while it is cold')
  const long = (...good: readonly number[]): StepResult => {
    const goodput = good.reduce((sum, each) => sum + each, 0) / good.length
    return {
      ...sags,
      goodput,
      seconds: good.map((each, at) => ({ ...cold.seconds[0]!, second: at, offered: 800, goodput: each })),
    }
  }
  const late = 'it answered more at the end than at the start, as it was cold; use a longer --duration'
  assert.equal(rowOf(long(40, 40, 40, 40, 190, 190), 4000).unjudged, late)
  assert.equal(rowOf(long(40, 40, 40, 40, 40, 40), 4000).unjudged, undefined, 'it melts, warm or cold')
  assert.equal(rowOf(long(190, 40, 0, 0, 0, 0), 4000).unjudged, undefined, 'it melts once its queue has filled')
  assert.equal(rowOf(stepOf(1, 1, 1), 3800).unjudged, undefined, 'all was answered')
})

test('the search measures how long the app was cold', async () => {
  const coldFor = async (seconds: number) => {
    const app = appThat(() => (app.lastedMs() < seconds * 1000 ? 20 : 200))
    return (await searchCapacity(app.context)).coldMs
  }
  assert.equal(await coldFor(0), 0)
  assert.equal(await coldFor(1), 1000, 'the first part of the warm-up')
  const after = await coldFor(5)
  assert.ok(after >= 5000 && after <= 12_000, `${after} ms`)
})

test('a step that melts until its end, in its middle, or only a little is still judged', () => {
  assert.deepEqual(verdictOn(stepOf(1, 1, 1, 0, 0, 0, 0, 0, 0)), ['melts at 0.5x', 'bad'])
  assert.deepEqual(verdictOn(stepOf(0, 0, 0, 0, 0, 0, 1, 1, 0.5)), ['melts at 0.5x', 'bad'])
  const inTheMiddle = [...Array<number>(4).fill(1), ...Array<number>(12).fill(0), ...Array<number>(8).fill(1)]
  assert.deepEqual(verdictOn(stepOf(...inTheMiddle)), ['melts at 0.5x', 'bad'], 'its start was well')
  assert.deepEqual(verdictOn(stepOf(0.9, 1, 1, 1, 1, 1, 1, 1, 1)), ['holds to 0.5x', 'good'])
})

test('steps of stored results, which have no seconds, are judged', () => {
  const { seconds: _, ...stored } = stepOf(0, 0, 0, 0, 1, 1)
  assert.deepEqual(verdictOn(stored as StepResult), ['melts at 0.5x', 'bad'])
})

test('a steady app is searched twice, and the second search starts where the first one ended', async () => {
  const app = appThat(() => 195)
  const { rate, searches } = await searchCapacity(app.context)
  assert.deepEqual([rate, searches], [195, [195, 195]])
  assert.ok(app.lastedMs() <= 20_000, `${app.lastedMs()} ms`)
})

test('the warm-up ends when the rate is steady or after ten rounds, and repeated searches after four', async () => {
  const rates = [100, 200, 400, 790, 800, 5000]
  let n = 0
  const steady = await warmUp(async () => outcome([second(0, { good: rates[n++] ?? 0 })]))
  assert.deepEqual([n, steady.last.good, steady.isSteady], [5, 800, true])
  n = 0
  const { isSteady } = await warmUp(async () => outcome([second(0, { good: 2 ** n++ * 100 })]))
  assert.deepEqual([n, isSteady], [10, false])
  const found = await untilAgreed(
    async (before: number | undefined) => 2 * (before ?? 1),
    rate => rate,
  )
  assert.deepEqual(found, [2, 4, 8, 16])
})

test('a search below two that agree does not count; a larger one does', async () => {
  const searched = async (...rates: readonly number[]): Promise<readonly number[]> => {
    let n = 0
    return await untilAgreed(
      async () => rates[n++]!,
      rate => rate,
    )
  }
  assert.deepEqual(await searched(1247, 1000, 1249), [1247, 1249])
  assert.deepEqual(await searched(700, 1247, 1000, 1249), [700, 1247, 1249])
  assert.deepEqual(await searched(1000, 1050, 5), [1000, 1050])
  assert.deepEqual(await searched(1247, 1383, 1249, 1386), [1247, 1383, 1386], 'something can only reduce a search')
  assert.deepEqual(await searched(100, 200, 100, 50), [100, 200, 100, 50], 'no two of them agree')
})

test('a slower core explains a smaller capacity up to its own share', () => {
  const own = (smaller: number, coreSpeed: number | null) =>
    Math.round(100 * ownDriftOf({ rate: 154, coreSpeed: 4500 }, { rate: smaller, coreSpeed }))
  assert.deepEqual([own(118, 3375), own(118, 4500), own(118, null)], [0, 31, 31], 'nearly all of it, nothing, unknown')
  assert.deepEqual([own(90, 3375), own(150, 3375)], [28, 0], 'a part of it; an app that the core hardly slows down')
  assert.equal(own(118, 9000), 161, 'on a faster core it should have done more')
})

test('a drift that the speed of the core explains does not prevent a verdict, nor the recovery', () => {
  const drifted = (ownDrift?: number): MeltMeasured =>
    capacity({
      searches: [190, 195],
      before: 195,
      after: 150,
      rate: 195,
      drift: -0.23,
      ...(ownDrift === undefined ? {} : { ownDrift }),
    })
  const wider = (ownDrift?: number) => ({
    ...drifted(ownDrift),
    capacity: { ...drifted(ownDrift).capacity!, after: 140 },
  })
  assert.match(
    wording(wider()).finding,
    /^No verdict: the capacity drifted by 39 % during the run, from 195, then 140\/s/,
  )
  assert.match(
    wording(wider(0.3)).finding,
    /^No verdict: the capacity drifted by 39 % \(30 % at one speed of the core\) during/,
  )
  assert.equal(wording(wider(0.02)).unjudged, undefined)
  assert.deepEqual([isCarried(drifted().capacity), isCarried(drifted(0.02).capacity)], [false, true])
  const [why] = reasonsToDoubt({ ...drifted(0.02), steps: [] })
  assert.equal(why, 'the capacity drifted by 23 %: 195/s before, 150/s after, as did the speed of the core')
})

test('a step is not judged if its verdict depends on which of two capacities is right', () => {
  const kept = (goodput: number, arm = 'protected'): string | undefined => {
    const some = madeMeasured().steps.find(step => step.multiple === 2)!
    const [row] = rowsOf([{ ...some, arm, goodput, offered: 720 }], [arm], { rate: 192, before: 192, after: 165 })
    return row!.unjudged
  }
  assert.equal(
    kept(159),
    'its capacity was 165 or 192/s, and the verdict depends on which; repeat the run without --quick and without other work',
  )
  assert.deepEqual([kept(185), kept(120), kept(0, 'bare')], [undefined, undefined, undefined])
})

test('a red step is not judged if the generator was frozen, or lost the good answers', () => {
  const [some] = madeMeasured().steps
  const unjudged = (multiple: number, goodput: number, doubts: readonly DoubtCode[], goodLost = 0, unsent = 0) => {
    const generator = { ...some!.generator, certified: false, doubts, goodLost }
    const step = { ...some!, multiple, offered: 200 * multiple, goodput, unsent, generator }
    return rowsOf([step], ['bare'], { rate: 200 })[0]!.unjudged !== undefined
  }
  assert.deepEqual([unjudged(0.5, 40, ['frozen']), unjudged(2, 90, ['frozen', 'late', 'connections'])], [true, true])
  assert.equal(unjudged(0.5, 99, ['frozen', 'late'], 1), false, 'it holds')
  assert.equal(unjudged(6, 3, ['frozen']), false, 'next to no answer in time is no matter of a pause')
  assert.deepEqual([unjudged(0.5, 20, ['late'], 75), unjudged(2, 80, ['late'], 100)], [true, true])
  assert.deepEqual([unjudged(2, 80, ['late'], 3), unjudged(2, 80, [], 100)], [false, false], 'it melts anyway')
  assert.equal(unjudged(2, 80, ['late', 'connections'], 100), false, 'the app kept all connections busy')
  assert.equal(unjudged(0.5, 20, ['late'], 0, 80), true, 'a fifth of the load was sent, and answered')
  assert.equal(unjudged(100, 5, ['late'], 0, 12_000), false, 'it also melts at the 40x that were sent')
  const { generator: _, ...old } = stepOf(0, 0, 0, 0)
  const { certified, why, cpuPerRequestUs, sendLagP99Ms } = some!.generator
  const stored = { ...old, generator: { certified, why, cpuPerRequestUs, sendLagP99Ms } }
  assert.deepEqual(verdictOn(stored), ['melts at 0.5x', 'bad'], 'older results have no codes')
})

test('a capacity has no verdict if the generator limited it, or was frozen twice', async () => {
  const found = async (...codes: readonly DoubtCode[]) => {
    const { context } = appThat(() => 200)
    let n = 0
    const run = async (plan: Parameters<CapacityContext['run']>[0]): Promise<LoadOutcome> => {
      const made = await context.run(plan)
      const isConfirming = made.seconds.length === 3
      const doubts = isConfirming ? codes.slice(n, ++n) : []
      return { ...made, certificate: { ...made.certificate, doubts } }
    }
    const capacity = await searchCapacity({ ...context, run })
    return whyNoVerdict({ ...capacity, over: [capacity.rate], best: 0 })
  }
  assert.match((await found('saturated'))!, /^the load generator used its whole core while .*; request a path that/)
  assert.match((await found('frozen', 'frozen'))!, /^the load generator stood still while .*; repeat the run/)
  assert.deepEqual([await found('frozen'), await found('late', 'connections')], [undefined, undefined])
})

test('multiples of a capacity that are more than a plan allows are left out', () => {
  const target = { ...checkOptions(given, command), url: 'http://app/' }
  const all = [0.5, 20, 50, 100]
  const kept = offerable(all, 20_000)
  assert.deepEqual(
    [kept, offerable(all, 200, { mostRate: 4000 })],
    [
      [0.5, 20, 50],
      [0.5, 20],
    ],
  )
  for (const multiple of kept) checkPlan(offer(target, multiple * 20_000, 1000))
  assert.throws(() => checkPlan(offer(target, 100 * 20_000, 1000)), RangeError)
  assert.deepEqual(offerable(all, 20_000, { goodShare: 0.9 }), [0.5, 20], 'more is sent than can be good')
})
