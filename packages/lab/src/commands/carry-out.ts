/** Shared by the commands that run a scenario: the output, the exit code, and the command line for the report. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { type RunOptions, runScenario } from '../experiment/run-scenario.ts'
import type { Scenario } from '../experiment/scenario.ts'
import type { Progress } from '../progress.ts'
import type { Form, ScenarioResult } from '../report/result.ts'
import { scenarioText } from '../report/text.ts'
import { folderName, freshFolder, type WriteFile, writeInto } from '../report/write.ts'
import { isCredential } from '../results/attack-document.ts'
import { paintOn, widthOf } from '../terminal.ts'
import { UserError } from '../user-error.ts'
import { labVersion } from './lab-version.ts'
import { keepElsewhere, REASONS } from './user-files.ts'

export interface Output {
  readonly out: string
  readonly json?: boolean | undefined
}

/** Exit code when an expectation was not met although the run itself succeeded. */
export const notMet = 3

/** Runs the scenario, shows its figures, and rethrows the error that ended it early. */
export async function carryOut(
  scenario: Scenario<unknown>,
  form: Form,
  output: Output,
  progress: Progress,
  signal: AbortSignal,
  part: Pick<RunOptions, 'resumed' | 'onCheckpoint'> = {},
): Promise<ScenarioResult> {
  const { result, failure } = await runScenario(scenario, { form, ...provenance(), progress, signal, ...part })
  if (failure === undefined || result.tables.some(table => table.rows.length > 0)) show(result, output)
  if (failure !== undefined) throw failure
  if (result.verdicts.some(({ verdict }) => verdict === 'fail')) process.exitCode = notMet
  return result
}

/** Prints text or JSON to stdout, and writes the report. Results are printed even if the disk fails. */
export function show(result: ScenarioResult, { out, json }: Output): void {
  const { stdout, stderr } = process
  const paint = { width: widthOf(stdout), paint: paintOn(stdout) }
  stdout.write(json === true ? `${JSON.stringify(result)}\n` : `\n${scenarioText(result, paint)}\n\n`)
  const html = writeOrKeep(result, out)
  if (json === true) stderr.write(`${html}\n`)
  else stdout.write(`${nearPath(html)}\n`)
}

/** A relative path, or an absolute one outside the working folder. */
export function nearPath(file: string): string {
  const near = path.relative('', file)
  return near.startsWith('..') ? path.resolve(file) : near
}

/** Returns the path of the page. @throws UserError that says where the result was stored instead */
export function writeOrKeep(result: ScenarioResult, out: string, write?: WriteFile): string {
  let folder: string | undefined
  try {
    folder = freshFolder(result, out)
    return writeInto(result, folder, write)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = `the report could not be written to ${path.resolve(out)} (${REASONS[code ?? ''] ?? message})`
    throw new UserError(`${why}; ${whereItIs(result, folder, write)}`, 1)
  }
}

/**
 * Says where the result is: in the run's folder if only the page failed, else in a temporary folder, else on stdout.
 */
function whereItIs(result: ScenarioResult, folder: string | undefined, write?: WriteFile): string {
  const own = path.join(folder ?? '', 'result.json')
  const isThere = folder !== undefined && existsSync(own)
  const file = isThere ? own : keepElsewhere(`${folderName(result)}.json`, JSON.stringify(result), write)
  if (file !== undefined)
    return `the result is in ${file}: \`meltlab report ${file}\` writes the page once there is room`
  process.stdout.write(`${JSON.stringify(result)}\n`)
  return 'the whole result is on stdout, as JSON'
}

/** The command for a shell and the lab's version, with which a reader can repeat the run. */
export function provenance(): { readonly commandLine: string; readonly labVersion: string } {
  const words = process.argv
    .slice(2)
    .map(hidden)
    .map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
  // For a script that imports the lab, the command names the script; otherwise it is `meltlab`.
  const script = path.relative('', process.argv[1] ?? '')
  const command = script.endsWith('.ts') && !script.endsWith('cli.ts') ? `node ${script}` : 'meltlab'
  return { commandLine: [command, ...words].join(' '), labVersion: labVersion() }
}

/** Masks the value of a header with credentials, and the user and password of a URL, in a command line. */
const hidden = (word: string): string =>
  word
    .replace(/^((?:--header=)?([\w-]+):).*$/s, (whole, start: string, name: string) =>
      isCredential(name) ? `${start} …` : whole,
    )
    .replace(/:\/\/[^/?#\s]*@/, '://…@')
