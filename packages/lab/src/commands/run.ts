/** `meltlab run`: scenarios in; tables, reports and exit code out. What happens in between is in ../scenarios/. */
import path from 'node:path'
import { type Command, Option } from 'commander'
import { type Progress, progressOn } from '../progress.ts'
import type { Form, ScenarioResult } from '../report/scenario/result.ts'
import { scenarioText } from '../report/scenario/text.ts'
import { writeScenario } from '../report/scenario/write.ts'
import { catalogue } from '../scenarios/catalogue.ts'
import { nearestName } from './nearest-name.ts'
import { runScenario } from '../experiment/run-scenario.ts'
import type { AnyScenario, MeltScenario, Scenario } from '../experiment/scenario.ts'
import { UserError } from '../user-error.ts'
import { melt } from './melt.ts'
import { labVersion, shownCommandLine } from './provenance.ts'
import { stopOnSignals } from './stop-on-signals.ts'

interface Flags {
  readonly full?: true
  readonly brief?: true
  readonly json?: true
  readonly out: string
}

/** An expectation that was judged and not met: the run itself went well. */
const notMet = 3

export function registerRun(program: Command): void {
  program
    .command('run')
    .summary('carry out published experiments, bare and protected')
    .description(
      'Carries out each SCENARIO (see `meltlab list`), bare and protected, and writes a report for each. ' +
        `Ends with exit code ${notMet} when something that was expected did not show.`,
    )
    .argument('<scenario...>', "names of scenarios, or 'all'")
    .addOption(new Option('--full', 'as published, or longer (default: about a minute)').conflicts('brief'))
    .option('--brief', 'a few seconds, only to see that it works; nothing that depends on speed is judged')
    .option('--out <dir>', 'where to put the folder of each run', 'runs')
    .option('--json', 'print each result as one line of JSON on stdout, and nothing else')
    .action((names: string[], flags: Flags) => run(names, flags))
}

async function run(names: readonly string[], flags: Flags): Promise<void> {
  const chosen = chooseScenarios(names)
  const form: Form = flags.full === true ? 'full' : flags.brief === true ? 'brief' : 'quick'
  const progress = progressOn(process.stderr)
  const signal = stopOnSignals(progress)
  for (const [at, scenario] of chosen.entries()) {
    if (chosen.length > 1) progress.line(`${at === 0 ? '' : '\n'}${scenario.name} (${at + 1} of ${chosen.length})`)
    if (scenario.kind === 'melt') await runMelt(scenario, form, flags)
    else await runOne(scenario, form, flags, progress, signal)
  }
}

/** All names are looked up before anything starts. */
export function chooseScenarios(names: readonly string[]): readonly AnyScenario[] {
  if (names.includes('all')) return catalogue
  return [...new Set(names)].map(name => {
    const found = catalogue.find(each => each.name === name)
    if (found !== undefined) return found
    const known = catalogue.map(each => each.name)
    const near = nearestName(name, known)
    const hint = near === undefined ? `the scenarios are ${known.join(', ')}` : `did you mean ${near}?`
    throw new UserError(`there is no scenario '${name}'; ${hint}`)
  })
}

async function runOne(
  scenario: Scenario<unknown>,
  form: Form,
  flags: Flags,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { result, failure } = await runScenario(scenario, {
    form,
    commandLine: shownCommandLine(process.argv.slice(2)),
    labVersion: labVersion(),
    progress,
    signal,
  })
  if (failure === undefined || result.tables.length > 0) {
    const written = writeScenario(result, flags.out)
    if (flags.json === true) {
      process.stdout.write(`${JSON.stringify(result)}\n`)
      process.stderr.write(`${written.html}\n`)
    } else {
      process.stdout.write(`\n${scenarioText(result)}\n\n${path.relative('', written.html)}\n`)
    }
  }
  if (failure !== undefined) throw failure
  if (failed(result)) process.exitCode = notMet
}

function failed(result: ScenarioResult): boolean {
  return result.verdicts.some(({ verdict }) => verdict === 'fail')
}

/** The brief form of such a one is the quick one: capacity has to be found first anyway. */
async function runMelt(scenario: MeltScenario, form: Form, flags: Flags): Promise<void> {
  await melt(scenario.command, {
    name: scenario.name,
    also: scenario.also,
    slo: '1s',
    rounds: form === 'full' ? '3' : '1',
    startTimeout: '15s',
    spacing: 'even',
    method: 'GET',
    header: [],
    out: flags.out,
    ...(form === 'full' ? {} : { quick: true }),
    ...(flags.json === true ? { json: true } : {}),
  })
}
