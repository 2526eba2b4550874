/**
 * `npm run bench:overload`: the scoreboard. Runs each workload bare, with each rival and with meltproof, from cold
 * starts, at 0.5 to 300 times the capacity, with the ideal next to each figure. Some workloads have their own loads,
 * which --loads does not change. The whole run takes some hours.
 *
 *   --workload LIST  such as steps,pool (default: all)
 *   --arms LIST      such as bare,meltproof (default: all; where HAProxy is missing, those that need it are left out)
 *   --loads LIST     multiples of the capacity (default: 0.7,0.9,1,2,6,10,40,100,300)
 *   --modes LIST     standing, fresh (default: both)
 *   --rounds N       rounds for each median (default: 3)
 *   --from-scratch   discard what an earlier run has left in runs/overload
 *   --report         only write the pages and the pictures, with the current wording
 *   --quick          one workload at 0.9 and 10 times the capacity, once, printed and not stored: four minutes
 *
 * It can be stopped at any time and continues after the last finished step: the lab stores each step in runs/overload.
 * At the end it copies the results of these workloads to bench/results/overload and writes docs/scoreboard.md and
 * docs/scoreboard/, like `meltlab report --markdown --pages`.
 */
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { markdownReport } from '../packages/lab/src/commands/report.ts'
import { runScenarios } from '../packages/lab/src/commands/run.ts'
import { overload } from '../packages/lab/src/scenarios/overload/overload.ts'
import { ARMS, MODES, WORKLOADS } from '../packages/lab/src/scenarios/overload/workloads.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { rewriteFindings, workloadOf } from './lib/rewrite-findings.ts'

const options = scriptOptions(import.meta.filename, {
  workload: { type: 'string' },
  arms: { type: 'string' },
  loads: { type: 'string' },
  modes: { type: 'string' },
  rounds: { type: 'string' },
  'from-scratch': { type: 'boolean', default: false },
  report: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
})
const { values } = options
const keep = 'runs/overload'
const results = 'bench/results/overload'

/** The chosen values, or `few` if a quick run chooses none. */
function chosen<T extends string>(name: 'workload' | 'modes', known: readonly T[], few: readonly T[]) {
  return values.quick && values[name] === undefined ? few : options.chosen(name, known)
}

const arms = values.arms === undefined ? undefined : options.chosen('arms', ARMS)
const modes = chosen('modes', MODES, ['standing'])
const loads = values.loads?.split(',').map(Number)
if (loads?.some(load => !(load > 0))) options.refuse(`--loads takes numbers above 0; got '${values.loads}'`)
const scenarios = chosen('workload', Object.keys(WORKLOADS), ['steps']).flatMap(workload =>
  modes.map(mode =>
    overload({
      ...{ workload, mode },
      ...(arms === undefined ? {} : { arms }),
      ...(loads === undefined ? {} : { loads }),
      ...(values.rounds === undefined ? {} : { rounds: options.whole('rounds') }),
    }),
  ),
)
if (values.quick) await runScenarios(scenarios, 'quick', { out: 'runs' })
else {
  if (values['from-scratch']) rmSync(keep, { recursive: true, force: true })
  if (!values.report) {
    await runScenarios(scenarios, 'full', { out: 'runs', keep })
    // Only these, because the other files in the folder may be from an older commit.
    for (const { name } of scenarios) {
      if (existsSync(`${keep}/${name}.json`)) cpSync(`${keep}/${name}.json`, `${results}/${name}.json`)
    }
  }
  rewriteFindings(results, workloadOf, ({ arms }) => ({ arms }))
  writeFileSync('docs/scoreboard.md', markdownReport([results], 'docs/images', 'docs/scoreboard'))
}
