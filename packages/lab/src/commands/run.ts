/** `meltlab run`: runs scenarios, prints tables, writes reports, sets the exit code. ../experiment/ does the work. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { type Command, Option } from 'commander'
import type { RunOptions, RunPart } from '../experiment/run-scenario.ts'
import type { Scenario } from '../experiment/scenario.ts'
import { isOlder, scriptDigest } from '../experiment/script-digest.ts'
import { progressOn } from '../progress.ts'
import type { Form } from '../report/result.ts'
import { catalogue, scoreboard } from '../scenarios/catalogue.ts'
import { UserError } from '../user-error.ts'
import { carryOut, notMet, type Output } from './carry-out.ts'
import { nearestName } from '../nearest-name.ts'
import { writeWhole } from '../write-whole.ts'
import { readScenario } from './read-scenario.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { checkWritable } from './user-files.ts'

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
    .summary('run published experiments, bare and protected')
    .description(
      'Runs each SCENARIO (see `meltlab list`), bare and protected, and writes a report for each. ' +
        `Ends with exit code ${notMet} if an expectation was not met, and with 1 if one of several failed.`,
    )
    .argument('<scenario...>', "names of scenarios, or 'all'")
    .addOption(new Option('--full', 'as published, or longer (default: one to five minutes)').conflicts('brief'))
    .option('--brief', 'a few seconds, to check that it works; nothing that depends on speed is judged')
    .option('--out <dir>', 'folder for results; each run creates a subfolder', 'runs')
    .option('--keep <dir>', 'also write each result to DIR when it ends, and skip scenarios whose result is there')
    .option('--json', 'print each result as one line of JSON on stdout, and nothing else')
    .addHelpText('after', '\nExamples:\n  meltlab run burst\n  meltlab run all --full --keep results')
    .action(async (names: string[], flags: Flags) => {
      const form: Form = flags.full === true ? 'full' : flags.brief === true ? 'brief' : 'quick'
      await runScenarios(chooseScenarios(names), form, flags)
    })
}

/** Runs all, even if one fails. Skips scenarios whose result was stored before, unless by an older script. */
export async function runScenarios(
  scenarios: readonly Scenario<unknown>[],
  form: Form,
  output: Output & { readonly keep?: string | undefined },
): Promise<void> {
  checkWritable(output.out, '--out')
  if (output.keep !== undefined) checkWritable(output.keep, '--keep')
  const progress = progressOn(process.stderr)
  const signal = stopOnSignals(progress)
  const kept = ({ name }: Scenario<unknown>): string => path.join(output.keep ?? '', `${name}.json`)
  const isKept = (each: Scenario<unknown>): boolean => existsSync(kept(each)) && !isOlder(readScenario(kept(each)))
  const left = output.keep === undefined ? scenarios : scenarios.filter(each => !isKept(each))
  const runOne = async (scenario: Scenario<unknown>): Promise<void> => {
    const part = output.keep === undefined ? undefined : partialRun(`${kept(scenario)}.part`, scenario, form)
    const result = await carryOut(scenario, form, output, progress, signal, part)
    if (part === undefined) return
    const measured = scenario.kept === undefined ? result.measured : scenario.kept(result.measured)
    // A partial file on a full disk would count as a result.
    writeWhole(kept(scenario), `${JSON.stringify({ ...result, measured }, null, 1)}\n`)
    part.forget()
  }
  const failed: string[] = []
  for (const [at, scenario] of left.entries()) {
    if (left.length > 1) progress.line(`${at === 0 ? '' : '\n'}${scenario.name} (${at + 1} of ${left.length})`)
    try {
      await runOne(scenario)
    } catch (error) {
      // It is the only scenario, or Ctrl-C was pressed.
      if (left.length === 1 || signal.aborted) throw error
      failed.push(scenario.name)
      progress.line(`✗ ${scenario.name}: ${error instanceof UserError ? error.message : (error as Error).stack}`, 'bad')
    }
  }
  if (failed.length > 0) {
    const others = left.length - failed.length
    const rest = others === 0 ? '' : `; the other ${others} completed`
    throw new UserError(`${failed.length} of ${left.length} failed: ${failed.join(', ')}${rest}`, 1)
  }
}

type PartialRun = Pick<RunOptions, 'resumed' | 'onCheckpoint'> & { forget(): void }

/**
 * Stores what a run with --keep has measured so far in a file next to its result, so that the run can be resumed.
 * Measurements of another form (with other durations) or of an older script are not used.
 */
export function partialRun(file: string, { name, resumes }: Scenario<unknown>, form: Form): PartialRun {
  const script = scriptDigest(name)
  const found =
    resumes === true && existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as RunPart & { form: Form; script?: string })
      : undefined
  return {
    ...(found?.form === form && found.script === script ? { resumed: found } : {}),
    onCheckpoint(part) {
      writeWhole(file, JSON.stringify({ form, script, ...part }))
    },
    forget: () => rmSync(file, { force: true }),
  }
}

export function chooseScenarios(names: readonly string[]): readonly Scenario<unknown>[] {
  if (names.includes('all')) return catalogue
  return [...new Set(names)].map(name => {
    const found = [...catalogue, ...scoreboard].find(each => each.name === name)
    if (found !== undefined) return found
    const known = catalogue.map(each => each.name)
    const near = nearestName(name, known)
    const hint = near === undefined ? `the scenarios are ${known.join(', ')}` : `did you mean ${near}?`
    throw new UserError(`there is no scenario '${name}'; ${hint}`)
  })
}
