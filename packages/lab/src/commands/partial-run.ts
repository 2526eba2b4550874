/** Stores what a run with --keep has measured so far in a file next to its result, so that the run can be resumed. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import type { RunOptions, RunPart } from '../experiment/run-scenario.ts'
import { scriptDigest } from '../experiment/script-digest.ts'
import type { Scenario } from '../experiment/scenario.ts'
import type { Form } from '../report/result.ts'
import { writeWhole } from '../write-whole.ts'

type PartialRun = Pick<RunOptions, 'resumed' | 'onCheckpoint'> & { forget(): void }

/** Partial results of another form (with other durations) or of an older script are not used. */
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
