/**
 * Measures limiters on each set of simulated scenarios, and the same services bare. Virtual time. All sets take about
 * 20 s a seed on two cores, and twice that after a file of the simulator has changed, because bare runs are cached in
 * runs/.
 *
 *   node bench/admission-held-out.ts [--seeds 1,2,3] [--quick] [--each] [--broken] [--limiter Vegas,Gradient2]
 *      [--set tuned,cold,development,held-out,unseen,fresh,mixed,thirty,uneven,uneven-held-out,mixed-held-out]
 *      [--final] [--only TEXT] [--threads 2] [--json FILE] [--write]
 *   node bench/admission-held-out.ts --compare BEFORE.json AFTER.json
 *
 * - tuned: sim/scenarios.ts. - cold: sim/cold-starts.ts. - development: sim/development.ts.
 * - held-out: sim/held-out.ts, written before any result was seen. Three changes were made after its results were seen.
 * - unseen: sim/unseen.ts, by an author who had not read the limiter, before it ran on them. One change (to the
 *   treatment of a halt, see LimitReason) was made after its results were first seen.
 * - fresh: sim/fresh.ts, by a second author who had not read the limiter, and committed before it ran on them.
 * - thirty: sim/thirty.ts, by a third author who had not read the limiter, and committed before it ran on them.
 * - uneven, uneven-held-out: sim/uneven.ts, dependencies of uneven pace. The second was committed before the limiter
 *   ran on it.
 * - mixed, mixed-held-out: sim/mixed.ts and sim/mixed-held-out.ts, mixes on one path, committed before the limiter ran
 *   on them. The second is for the final judgement: it runs only with `--final`, or when `--set` names it.
 *
 * Goodput is the share of what perfect admission would answer within a second, the mean of the seeds. Where capacity
 * suffices, the worst seed counts, and a scenario sheds falsely above 0.2 %. bench/lib/yardsticks.ts defines the rules.
 *
 * --quick    seed 1, and no scenario of more than 90 s
 * --each     a table of every scenario; --broken: only of those that break a rule
 * --only     scenarios whose name contains TEXT
 * --limiter  rivals (sim/limiters) behind the same gate and queue
 * --json     writes the figures to FILE
 * --write    writes bench/results/admission-yardsticks.json and docs/admission-yardsticks.md
 * --compare  lists the scenarios whose figures differ by more than a point, or that break other rules
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
  writeFileSync(join(import.meta.dirname, '../docs/admission-yardsticks.md'), yardsticksPage(result))
}

/** Rounds to four digits, which suffice. */
function figure(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 10_000) / 10_000 : value
}
