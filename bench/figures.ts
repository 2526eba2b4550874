/**
 * `npm run figures`: measures every published figure again, on this commit and this machine, with at least three
 * alternating rounds where the script has rounds. A quiet machine with two cores needs less than two hours. The run can
 * be stopped at any time: runs/figures/state.json records the steps that have ended, and the next run at the same
 * commit continues after them. At the end, the results and pages are in the work tree, ready for review and commit.
 *
 *   --list, --dry-run  the steps that would run, how long they take, what they publish, and outdated figures
 *   --only LIST        these steps, such as shed-cost,overload-steps, and the pages; `scoreboard` means all overload-*
 *   --all              also the steps that are omitted by default: the scoreboard, virtual time, and apps from npm
 *
 * It refuses a work tree with changes, and a machine on which something else runs. Exit code 1 when a step failed or
 * was not begun, 2 when the run is refused.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commitHere, FIGURE_CODE } from '../packages/lab/src/experiment/commit.ts'
import { endOnSignal } from '../scripts/end-on-signal.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { changedByHand, commitsIn, left, planOf } from './figures/plan.ts'
import { forMinutes, readState, runSteps, whyMachineBusy } from './figures/run-steps.ts'
import { BY_HAND, STEPS, type Step } from './figures/steps.ts'

const options = scriptOptions(import.meta.filename, {
  list: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  only: { type: 'string' },
  all: { type: 'boolean', default: false },
})
const { values, refuse } = options
const all = STEPS.map(({ name }) => name)
const names = options
  .chosen('only', [...all, 'scoreboard'])
  .flatMap(name => (name === 'scoreboard' ? all.filter(each => each.startsWith('overload-')) : [name]))
const root = join(import.meta.dirname, '..')
const stateFile = join(root, 'runs/figures/state.json')
const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })
const commit = (commitHere() ?? refuse('there is no commit here')).replace('+', '')
const plan = planOf(STEPS, readState(stateFile, commit), commit, {
  all: values.all,
  ...(values.only === undefined ? {} : { only: names }),
})
const steps = left(plan)

if (values.list || values['dry-run']) list()
else await run()

async function run(): Promise<void> {
  const changed = changedByHand(git('status', '--porcelain').stdout, STEPS)
  if (changed.length > 0) refuse(`the work tree has changes, so figures would have no commit: ${changed.join(', ')}`)
  const programs = ['taskset', ...steps.flatMap(({ needs = [] }) => needs)]
  const missing = programs.filter(each => spawnSync('sh', ['-c', `command -v ${each}`]).status !== 0)
  if (missing.length > 0) refuse(`${missing.join(', ')} is missing: CONTRIBUTING.md says where it comes from`)
  if (steps.length === 0) return console.log(`all steps are done at ${commit}`)
  const signal = endOnSignal()
  if (steps.some(({ untimed }) => !untimed)) {
    const why = await whyMachineBusy(signal)
    if (why !== undefined) refuse(why)
  }
  const goesOn = 'finished steps are kept; npm run figures continues after them'
  signal.addEventListener('abort', () => console.error(`stopped: ${goesOn}`))
  try {
    await runSteps(steps, { root, stateFile, commit, signal, say: console.log })
    console.log(`all steps are done at ${commit}; review the results with git diff --stat, then commit them`)
  } catch (error) {
    if (signal.aborted) return
    console.error(`${(error as Error).message}; ${goesOn}`)
    process.exitCode = 1
  }
}

function list(): void {
  for (const { step, todo } of plan) {
    const what = todo === 'excluded' ? `left out, ${step.whyExcluded}` : todo
    const rounds = step.rounds === undefined ? '' : `, ${step.rounds} rounds`
    console.log(`${step.name}: ${what}; ${step.minutes} min${rounds}\n    ${step.run.join('\n    ')}`)
  }
  console.log(`\nleft at ${commit}: ${steps.length} of ${plan.length} steps, about ${forMinutes(steps)}`)
  const inAll = (read: (step: Step) => readonly string[]): string =>
    [...new Set(steps.flatMap(read))].join(' ') || 'none'
  console.log(`\nwould write: ${inAll(({ results }) => results)}`)
  console.log(`would publish: ${inAll(({ pages }) => pages)}`)
  console.log(`to read again, because they quote it: ${inAll(({ quotedBy = [] }) => quotedBy)}`)
  console.log('\nolder than the code of this commit:')
  const older = STEPS.flatMap(({ results }) => globSync([...results], { cwd: root }).sort()).flatMap(whyOlder)
  console.log(older.length === 0 ? 'none' : older.join('\n'))
  console.log('\npublished, and made by no step:')
  for (const [file, why] of Object.entries(BY_HAND)) console.log(`bench/results/${file}: ${why}`)
}

function whyOlder(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const commits = file.endsWith('.json') ? commitsIn(JSON.parse(text)) : (text.match(/(?<=cores · )[0-9a-f]+/g) ?? [])
  if (commits.length === 0) return [`${file}: names no commit`]
  // An app's result names the last commit that changed the runtime.
  const code = file.startsWith('apps/') ? ['packages/meltproof/src'] : FIGURE_CODE
  const isSame = (each: string): boolean => git('diff', '--quiet', each, '--', ...code).status === 0
  const others = commits.filter(each => !isSame(each))
  return others.length === 0 ? [] : [`${file}: ${others.join(', ')}`]
}
