/** The rules for limiters in the simulator (bench/lib/yardsticks.ts), and that threads do not change results. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BareRuns, simulatorHash } from '../bench/lib/bare-runs.ts'
import { ALL_SETS, BARE, measure } from '../bench/lib/measured-run.ts'
import { runSimulations, type Simulation } from '../bench/lib/simulations.ts'
import { changes, type Measured, type Rule, summaryOf, type Yardstick, yardstickOf } from '../bench/lib/yardsticks.ts'
import { type YardstickResult, yardsticksPage } from '../bench/lib/yardsticks-page.ts'

const FINE: Measured = {
  ...{ good: 1, late: 0, shed: 0, inItsTime: 1 },
  ...{ mostInService: 50, mostContending: 20, mostLeft: 100 },
}
const of = (
  noShed: boolean,
  runs: readonly Partial<Measured>[],
  bareRuns: readonly Partial<Measured>[] = runs.map(() => ({})),
): Yardstick =>
  yardstickOf({
    ...{ set: 'mixed', name: 'one', limiter: 'meltproof', noShed },
    runs: runs.map(run => ({ ...FINE, ...run })),
    bareRuns: bareRuns.map(run => ({ ...FINE, ...run })),
  })
const broken = (...given: Parameters<typeof of>): readonly Rule[] => of(...given).broken

describe('the rules', () => {
  test('accept a run without faults', () => {
    assert.deepEqual(broken(true, [{}]), [])
    assert.deepEqual(broken(false, [{}]), [])
  })

  test('false sheds: the worst seed counts, and only where no request may be shed', () => {
    assert.deepEqual(broken(true, [{ shed: 0.0019 }, {}]), [])
    assert.deepEqual(broken(true, [{ shed: 0.0021 }, {}]), ['false sheds'])
    assert.deepEqual(broken(false, [{ shed: 0.5 }]), [])
  })

  test('late: at most 3 % in the worst seed, or 2 points more than bare where no request may be shed', () => {
    assert.deepEqual(broken(false, [{ late: 0.029 }, {}]), [])
    assert.deepEqual(broken(false, [{ late: 0.031 }, {}]), ['late'])
    assert.deepEqual(broken(false, [{ late: 0.31 }], [{ late: 0.4 }]), ['late'])
    assert.deepEqual(broken(true, [{ late: 0.31 }], [{ late: 0.3 }]), [])
    assert.deepEqual(broken(true, [{ late: 0.33 }], [{ late: 0.3 }]), ['late'])
  })

  test('in service: in every seed at most twice as many contend as leave in the best second, or as many as bare has without sheds', () => {
    assert.deepEqual(broken(false, [{ mostContending: 200 }]), [])
    assert.deepEqual(broken(false, [{ mostContending: 201 }, {}]), ['in service'])
    // Requests in service that do not contend are not limited.
    assert.deepEqual(broken(false, [{ mostInService: 5000 }]), [])
    assert.deepEqual(broken(true, [{ mostContending: 500 }], [{ mostContending: 500 }]), [])
    assert.deepEqual(broken(true, [{ mostContending: 501 }], [{ mostContending: 500 }]), ['in service'])
  })

  test('below bare: at most two points of goodput, or of responses in their own time', () => {
    assert.deepEqual(broken(true, [{ good: 0.985 }]), [])
    assert.deepEqual(broken(true, [{ good: 0.975 }]), ['below bare'])
    assert.deepEqual(broken(true, [{ inItsTime: 0.97 }]), ['below bare'])
    // Goodput above 1 is due to chance, and counts as 1.
    assert.deepEqual(broken(true, [{ good: 0.99 }], [{ good: 1.1 }]), [])
  })

  test('where capacity is scarce, bare counts only as far as it answers in time', () => {
    assert.deepEqual(broken(false, [{ good: 0.9 }], [{ good: 1, late: 0.03 }]), ['below bare'])
    const noted = of(false, [{ good: 0.95 }], [{ good: 1.5, late: 0.5 }])
    assert.deepEqual(noted.broken, [])
    assert.ok(Math.abs(noted.bareMore - 0.55) < 1e-9)
  })
})

test('the mean of a set covers scarce scenarios, and no share counts above 1', () => {
  const summary = summaryOf([
    of(false, [{ good: 1.2 }]),
    of(false, [{ good: 0.7, late: 0.05 }]),
    of(true, [{ shed: 0.5, good: 0.1 }]),
  ])
  assert.equal(summary.mean, 0.85)
  assert.equal(summary.worst!.measured.good, 0.7)
  assert.equal(summary.late, 0.05)
  assert.deepEqual([summary.scarce, summary.ample, summary.below], [2, 1, 1])
  assert.deepEqual(summary.breaking, { 'false sheds': 1, late: 1, 'in service': 0, 'below bare': 2 })
})

test('a comparison lists changes of more than a point, and rules newly broken or kept', () => {
  const before = [of(false, [{ good: 0.9 }]), { ...of(false, [{ good: 0.9 }]), name: 'two' }]
  const after = [of(false, [{ good: 0.905 }]), { ...of(false, [{ good: 0.99, late: 0.04 }]), name: 'two' }]
  assert.deepEqual(changes(before, after), [
    'meltproof, mixed: two: goodput 90.0 % -> 99.0 %; late 0.0 % -> 4.0 %; BREAKS "late" now; keeps "below bare" now',
  ])
  assert.deepEqual(changes(before, before), [])
})

const RESULT = { date: '2026-01-01', node: 'v24.0.0', cpu: 'a core', cores: 2, loadBefore: 0, kernel: '6', seeds: [1] }

test('the page lists limiters and the rules they break, within 150 lines', () => {
  const yardsticks = Array.from({ length: 200 }, (_, i) => ({ ...of(false, [{ late: 0.1 }]), name: `scenario ${i}` }))
  const page = yardsticksPage({ ...RESULT, yardsticks })
  assert.match(page, /\| scenario 0 \| mixed \|/)
  assert.match(page, /200 of 200; 60 of them\./)
  assert.ok(page.split('\n').length <= 150)
  assert.doesNotMatch(
    yardsticksPage({ ...RESULT, yardsticks: yardsticks.map(each => ({ ...each, set: 'mixed-held-out' })) }),
    /scenario \d+ \| mixed-held-out/,
  )
})

test('docs/admission-yardsticks.md matches the results', () => {
  const result = JSON.parse(readFileSync('bench/results/admission-yardsticks.json', 'utf8')) as YardstickResult
  assert.equal(readFileSync('docs/admission-yardsticks.md', 'utf8'), yardsticksPage(result))
})

test('runs without admission control are cached until the simulator changes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bare-runs-'))
  try {
    const file = join(folder, 'kept/runs.json')
    const first = new BareRuns(file, 'one')
    assert.equal(first.get('mixed', 'a', 1), undefined)
    first.keep('mixed', 'a', 1, FINE)
    first.save()
    assert.deepEqual(new BareRuns(file, 'one').get('mixed', 'a', 1), FINE)
    assert.equal(new BareRuns(file, 'one').get('mixed', 'a', 2), undefined)
    assert.equal(new BareRuns(file, 'two').get('mixed', 'a', 1), undefined)
    assert.equal(simulatorHash(), simulatorHash())
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('runs on threads give the same results as alone', async () => {
  const scenario = ALL_SETS.mixed.findIndex(({ name }) => name.startsWith('a dashboard of 75'))
  const simulations: Simulation[] = [BARE, 'Vegas'].map(arm => ({ set: 'mixed', scenario, arm, seed: 1 }))
  assert.deepEqual(
    await runSimulations(simulations, 2),
    simulations.map(({ arm }) => measure(ALL_SETS.mixed[scenario]!, arm, 1)),
  )
})
