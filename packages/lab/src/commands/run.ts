/** `meltlab run`: scenarios in; tables, reports and exit code out. What happens in between is in ../experiment/. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Command, Option } from 'commander'
import type { Scenario } from '../experiment/scenario.ts'
import { progressOn } from '../progress.ts'
import type { Form } from '../report/result.ts'
import { catalogue } from '../scenarios/catalogue.ts'
import { UserError } from '../user-error.ts'
import { carryOut, notMet } from './carry-out.ts'
import { nearestName } from './nearest-name.ts'
import { stopOnSignals } from './stop-on-signals.ts'

interface Flags {
  readonly full?: true
  readonly brief?: true
  readonly json?: true
  readonly out: string
  readonly keep?: string
}

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
    .option(
      '--keep <dir>',
      'also write each result to DIR as it ends, and leave out the scenarios that are there already',
    )
    .option('--json', 'print each result as one line of JSON on stdout, and nothing else')
    .action((names: string[], flags: Flags) => run(names, flags))
}

async function run(names: readonly string[], flags: Flags): Promise<void> {
  const chosen = chooseScenarios(names)
  const form: Form = flags.full === true ? 'full' : flags.brief === true ? 'brief' : 'quick'
  const progress = progressOn(process.stderr)
  const signal = stopOnSignals(progress)
  const kept = ({ name }: Scenario<unknown>): string => path.join(flags.keep ?? '', `${name}.json`)
  const left = flags.keep === undefined ? chosen : chosen.filter(scenario => !existsSync(kept(scenario)))
  for (const [at, scenario] of left.entries()) {
    if (left.length > 1) progress.line(`${at === 0 ? '' : '\n'}${scenario.name} (${at + 1} of ${left.length})`)
    const result = await carryOut(scenario, form, flags, progress, signal)
    if (flags.keep === undefined) continue
    mkdirSync(flags.keep, { recursive: true })
    // What everything else is made of would be too much for a repository.
    writeFileSync(kept(scenario), `${JSON.stringify({ ...result, measured: undefined }, null, 1)}\n`)
  }
}

/** All names are looked up before anything starts. */
export function chooseScenarios(names: readonly string[]): readonly Scenario<unknown>[] {
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
