/** Delivers the results of an attack to stdout and to a page, and stores them elsewhere if that fails. */
import type { Flags } from '../attack/flags.ts'
import { describeMachine } from '../launch/machine.ts'
import { attackPage } from '../report/attack-page.ts'
import { attackReport } from '../report/attack-report.ts'
import type { AttackRun } from '../report/attack-words.ts'
import { scenarioHtml } from '../report/html.ts'
import type { ScenarioConditions } from '../report/result.ts'
import { stepsReport } from '../report/steps-report.ts'
import { scenarioCss } from '../report/write.ts'
import { attackDocument, attackJson } from '../results/attack-document.ts'
import { originHere } from '../results/origin.ts'
import { UserError } from '../user-error.ts'
import { provenance } from './carry-out.ts'
import { labVersion } from './lab-version.ts'
import { keepElsewhere, writeText } from './user-files.ts'

/**
 * Tries every destination. `runs` is never empty, because it includes a run that was stopped.
 * @throws UserError that says where the figures are if a destination could not be written
 */
export async function deliver(runs: readonly AttackRun[], startedAt: string, flags: Flags): Promise<void> {
  const { html } = flags
  const told = await writeOut(printed(runs, startedAt, flags))
  const failures: string[] = []
  if (html !== undefined) {
    try {
      writeText(html, scenarioHtml(attackPage(runs, { startedAt, conditions: conditions() }), scenarioCss()))
      process.stderr.write(`${html}\n`)
    } catch (error) {
      failures.push((error as Error).message)
    }
  }
  if (told && failures.length === 0) return
  if (!told || flags.json !== true) {
    const name = `meltlab-attack-${startedAt.replaceAll(/[:.]/g, '-')}.json`
    const file = keepElsewhere(name, documents(runs, startedAt, flags))
    failures.push(
      file === undefined ? 'the results could not be stored elsewhere either' : `the results are in ${file}`,
    )
  }
  throw new UserError(failures.join('; '), 1)
}

/** False if stdout cannot be written (main.ts prints the reason). A reader that closes its pipe is not a failure. */
const writeOut = (text: string): Promise<boolean> =>
  new Promise(resolve => {
    process.stdout.write(text, error => resolve((error as NodeJS.ErrnoException | null)?.code === 'EPIPE' || !error))
  })

function printed(runs: readonly AttackRun[], startedAt: string, flags: Flags): string {
  if (flags.json === true) return documents(runs, startedAt, flags)
  const colour = process.stdout.isTTY === true && !process.env['NO_COLOR']
  if (flags.steps !== undefined) return stepsReport(runs, flags.steps.length, colour)
  const { plan, outcome, judged } = runs[0]!
  return attackReport(plan, outcome, judged, colour)
}

/** One JSON document, or one that contains those of all steps. */
function documents(runs: readonly AttackRun[], startedAt: string, { steps }: Flags): string {
  const all = runs.map(({ plan, outcome, judged }) =>
    attackJson(attackDocument(plan, outcome, originHere(labVersion(), startedAt), judged)),
  )
  return steps === undefined ? all[0]! : `{ "steps": [\n${all.join(',\n')}] }\n`
}

/** The load was not pinned to a core, and other processes were not monitored. */
const conditions = (): ScenarioConditions => ({ ...provenance(), ...describeMachine(), pinning: null, foreign: null })
