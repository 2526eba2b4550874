/** What the commands that run a scenario share: its origin, its output, its exit code. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type RunOptions, runScenario } from '../experiment/run-scenario.ts'
import type { Scenario } from '../experiment/scenario.ts'
import type { Progress } from '../progress.ts'
import type { Form, ScenarioResult } from '../report/result.ts'
import { scenarioText } from '../report/text.ts'
import { writeScenario } from '../report/write.ts'

export interface Output {
  readonly out: string
  readonly json?: boolean | undefined
}

/** An expectation that was judged and not met: the run itself went well. */
export const notMet = 3

/** Runs it, shows what was measured, and throws what ended it early. */
export async function carryOut(
  scenario: Scenario<unknown>,
  form: Form,
  output: Output,
  progress: Progress,
  signal: AbortSignal,
  part: Pick<RunOptions, 'resumed' | 'onCheckpoint'> = {},
): Promise<ScenarioResult> {
  const { result, failure } = await runScenario(scenario, { form, ...provenance(), progress, signal, ...part })
  if (failure === undefined || result.tables.length > 0) show(result, output)
  if (failure !== undefined) throw failure
  if (result.verdicts.some(({ verdict }) => verdict === 'fail')) process.exitCode = notMet
  return result
}

/** The report on disk, and text or JSON on stdout. */
export function show(result: ScenarioResult, { out, json }: Output): void {
  const html = writeScenario(result, out)
  if (json === true) {
    process.stdout.write(`${JSON.stringify(result)}\n`)
    process.stderr.write(`${html}\n`)
  } else {
    process.stdout.write(`\n${scenarioText(result)}\n\n${path.relative('', html)}\n`)
  }
}

/** What a reader needs to repeat a run: the command as a shell would need it, and the lab's version. */
export function provenance(): { readonly commandLine: string; readonly labVersion: string } {
  const file = new URL('../../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
  const words = process.argv
    .slice(2)
    .map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
  // The lab's own command, or a script that calls it.
  const script = path.relative('', process.argv[1] ?? '')
  const command = script.endsWith('.ts') && !script.endsWith('cli.ts') ? `node ${script}` : 'meltlab'
  return { commandLine: [command, ...words].join(' '), labVersion: version }
}
