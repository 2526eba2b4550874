/** The rising burst: its texts and verdicts on made-up figures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { burstFresh } from '../../src/scenarios/burst-fresh.ts'
import type { BurstRun, BurstStep } from '../../src/scenarios/burst-fresh-view.ts'

const step = (perSecond: number, figures: Partial<BurstStep> = {}): BurstStep => ({
  ...{ from: 0, started: 2 * perSecond, ok: 0, good: 0, shed: 0, failed: 0 },
  ...{ meanMs: null, p99Ms: null, shedP99Ms: null, ...figures },
})
const run = (arm: string, ...steps: BurstStep[]): BurstRun => ({ arm, timeoutMs: 60_000, steps, failed: 0, unsent: 0 })
const bare = run(
  'bare',
  step(100, { ok: 200, good: 200, meanMs: 6, p99Ms: 9 }),
  step(1250, { ok: 500, failed: 2000, meanMs: 40_000, p99Ms: 59_000 }),
)
const ours = (good: number, p99Ms = 100): BurstRun =>
  run('protected', step(100), step(1250, { ok: good, good, shed: 2500 - good, meanMs: 50, p99Ms, shedP99Ms: 70 }))

const passes = (...runs: BurstRun[]): (boolean | undefined)[] =>
  burstFresh.expects.map(({ judge }) => judge(runs)?.pass)

test('bare is expected to melt, and protected to keep 95 % of the best goodput in time, without failures', () => {
  assert.deepEqual(passes(bare, ours(380)), [true, true, true])
  assert.deepEqual(passes({ ...bare, steps: [bare.steps[0]!, step(1250, { good: 200 })] }, ours(400)), [
    false,
    true,
    true,
  ])
  const full = run('toobusy-js', step(190, { good: 380 }))
  assert.equal(passes(bare, full, ours(360))[1], false)
  assert.equal(passes(bare, full, ours(380, 201))[1], false)
  assert.equal(passes(bare, { ...ours(380), failed: 1 })[2], false)
  assert.deepEqual(passes(), [undefined, undefined, undefined])
})

test('each published figure stands beside ours from the step with the same load', () => {
  const said = burstFresh.published.map(each => each.ours([bare, run('toobusy-js', step(1250, { ok: 70 })), ours(380)]))
  assert.equal(said[0], '200 after 40.0 s on average (20 %), 80 % failed or had none after 60 s')
  assert.match(said[2]!, /^10 % of it, and 54 % with meltproof/)
  assert.deepEqual(
    burstFresh.published.map(each => each.ours([])),
    [undefined, undefined, undefined],
  )
})

test('the finding gives the goodput at the highest load, and the standings say at which load each arm melts', () => {
  const { finding, standings, plots } = burstFresh.view([bare, ours(380)])
  assert.match(finding, /rise to 1,250 a second.*bare 0, protected 190; at most it is 190/)
  assert.deepEqual(
    standings!.map(({ says }) => says),
    ['melts at 1,250/s', 'holds'],
  )
  assert.equal(plots.length, 2)
  assert.deepEqual(burstFresh.view([]).plots, [])
})
