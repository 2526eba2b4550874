/**
 * Measures limiters on sets of simulated scenarios, and the same services bare, in virtual time. All sets take about
 * 20 s per seed on two cores. After a change of the simulator they take twice that, because the cached bare runs in
 * runs/ are no longer valid.
 *
 *   node bench/admission-held-out.ts [--seeds 1,2,3] [--quick] [--each] [--broken] [--limiter Vegas,Gradient2]
 *      [--set tuned,cold,development,held-out,unseen,fresh,mixed,thirty,uneven,uneven-held-out,mixed-held-out]
 *      [--final] [--only TEXT] [--threads 2] [--json FILE] [--write]
 *   node bench/admission-held-out.ts --compare BEFORE.json AFTER.json
 *
 * - tuned: sim/scenarios.ts
 * - cold: sim/cold-starts.ts
 * - development: sim/development.ts
 * - held-out: sim/held-out.ts, written before any result was seen. The limiter was changed three times after that.
 * - unseen: sim/unseen.ts, written by an author who had not read the limiter, before the limiter ran on its scenarios.
 *   One change of the limiter (to the treatment of a halt, see LimitReason) was made after its results were first seen.
 * - fresh: sim/fresh.ts, written by a second such author, and committed before the limiter ran on its scenarios.
 * - thirty: sim/thirty.ts, written by a third such author, and committed before the limiter ran on its scenarios.
 * - uneven: sim/uneven.ts, dependencies whose speed varies.
 * - uneven-held-out: sim/uneven.ts, more of them, committed before the limiter ran on them.
 * - mixed: sim/mixed.ts, mixes of cheap and expensive requests on one path, committed before the limiter ran on them.
 * - mixed-held-out: sim/mixed-held-out.ts, more such mixes, for the final judgement, also committed before the limiter
 *   ran on them. They run only with `--final`, or if `--set` names them.
 *
 * Goodput is the share of what perfect admission would answer within a second, averaged over the seeds. Where capacity
 * suffices, no request should be shed: a scenario sheds falsely if its worst seed sheds more than 0.2 %.
 * bench/lib/yardsticks.ts defines the rules.
 *
 * --quick    seed 1, and no scenario of more than 90 s
 * --each     a table of all scenarios
 * --broken   a table of the scenarios that break a rule
 * --only     scenarios whose name contains TEXT
 * --limiter  other limiters (sim/limiters) behind the same gate and queue
 * --json     writes the figures to FILE
 * --write    writes bench/results/admission-yardsticks.json and docs/admission-yardsticks.md
 * --compare  lists the scenarios whose figures differ by more than a percentage point, or that break other rules
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { FINAL } from './lib/admission-sets.ts'
import { BareRuns } from './lib/bare-runs.ts'
import { conditions } from './lib/conditions.ts'
import { ALL_SETS, BARE, type SetName } from './lib/measured-run.ts'
import { runSimulations, type Simulation } from './lib/simulations.ts'
import { changes, type Measured, type Yardstick, yardstickOf } from './lib/yardsticks.ts'
import { scenarioTable, summaryTable, type YardstickResult, yardsticksPage } from './lib/yardsticks-page.ts'

const LONGEST_QUICK_S = 90

const options = scriptOptions(
  import.meta.filename,
  {
    seeds: { type: 'string', default: '1,2,3' },
    set: { type: 'string' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    final: { type: 'boolean', default: false },
    each: { type: 'boolean', default: false },
    broken: { type: 'boolean', default: false },
    limiter: { type: 'string', default: 'meltproof' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
  },
  { takesOperands: true },
)
const { values, operands } = options
if (operands.length !== (values.compare ? 2 : 0))
  options.refuse(
    values.compare ? '--compare takes two files of --json' : `takes no operands; got '${operands.join(' ')}'`,
  )
const resultOf = (file: string): YardstickResult => JSON.parse(readFileSync(file, 'utf8')) as YardstickResult

if (values.compare) {
  const lines = changes(resultOf(operands[0]!).yardsticks, resultOf(operands[1]!).yardsticks)
  console.log(lines.length === 0 ? 'no scenario changed by more than a point' : lines.join('\n'))
} else await judge()

async function judge(): Promise<void> {
  const seeds = values.quick ? [1] : values.seeds.split(',').map(Number)
  if (seeds.some(seed => !Number.isSafeInteger(seed)))
    options.refuse(`--seeds takes whole numbers; got '${values.seeds}'`)
  const names = Object.keys(ALL_SETS) as SetName[]
  const sets = options.chosen('set', names).filter(set => values.final || values.set !== undefined || set !== FINAL)
  const limiters = options.chosen('limiter', Object.keys(LIMITERS))
  const chosen = sets.flatMap(set =>
    ALL_SETS[set]
      .map((scenario, at) => ({ set, scenario, at }))
      .filter(({ scenario }) => scenario.name.includes(values.only))
      .filter(({ scenario }) => !values.quick || scenario.seconds <= LONGEST_QUICK_S),
  )
  if (chosen.length === 0) options.refuse(`no scenario of these sets has '${values.only}' in its name`)
  const bareRuns = new BareRuns(join(import.meta.dirname, '../runs/bare-runs.json'))
  const simulations: Simulation[] = chosen.flatMap(({ set, scenario, at }) =>
    [BARE, ...limiters].flatMap(arm =>
      seeds
        .filter(seed => arm !== BARE || bareRuns.get(set, scenario.name, seed) === undefined)
        .map(seed => ({ set, scenario: at, arm, seed })),
    ),
  )
  const results = new Map<string, Measured>()
  for (const [index, measured] of (await runSimulations(simulations, options.whole('threads'))).entries()) {
    const { set, scenario, arm, seed } = simulations[index]!
    const { name } = ALL_SETS[set][scenario]!
    if (arm === BARE) bareRuns.keep(set, name, seed, measured)
    else results.set(`${set} ${arm} ${seed} ${name}`, measured)
  }
  bareRuns.save()
  const yardsticks: Yardstick[] = limiters.flatMap(limiter =>
    chosen.map(({ set, scenario: { name, noShed } }) =>
      yardstickOf({
        ...{ set, name, limiter, noShed },
        runs: seeds.map(seed => results.get(`${set} ${limiter} ${seed} ${name}`)!),
        bareRuns: seeds.map(seed => bareRuns.get(set, name, seed)!),
      }),
    ),
  )
  if (values.each) console.log(`${scenarioTable(yardsticks, limiters.length > 1)}\n`)
  else if (values.broken)
    console.log(
      `${scenarioTable(
        yardsticks.filter(({ broken }) => broken.length > 0),
        limiters.length > 1,
      )}\n`,
    )
  console.log(summaryTable(yardsticks))
  const result: YardstickResult = { ...conditions(), seeds, yardsticks }
  const json = `${JSON.stringify(result, figure, 1)}\n`
  if (values.json !== undefined) writeFileSync(values.json, json)
  if (!values.write) return
  writeFileSync(join(import.meta.dirname, 'results/admission-yardsticks.json'), json)
  // The page shows the stored figures, which are rounded.
  const page = yardsticksPage(JSON.parse(json) as YardstickResult)
  writeFileSync(join(import.meta.dirname, '../docs/admission-yardsticks.md'), page)
}

/** Rounds to four digits, which suffice. */
function figure(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 10_000) / 10_000 : value
}
