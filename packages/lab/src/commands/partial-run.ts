/** What a kept run has measured so far, in a file beside its result, so that it goes on where it was stopped. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { RunPart } from '../experiment/run-scenario.ts'
import type { Scenario } from '../experiment/scenario.ts'
import type { Form } from '../report/result.ts'

export interface PartialRun {
  readonly resumed?: RunPart
  readonly onCheckpoint: (part: RunPart) => void
  /** The run has ended. */
  forget(): void
}

/** A part of another form has other durations and is not used. */
export function partialRun(file: string, { resumes }: Scenario<unknown>, form: Form): PartialRun {
  const found =
    resumes === true && existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as RunPart & { form: Form })
      : undefined
  return {
    ...(found?.form === form ? { resumed: found } : {}),
    onCheckpoint(part) {
      // All or nothing: a run that is killed leaves no half file.
      writeFileSync(`${file}.new`, JSON.stringify({ form, ...part }))
      renameSync(`${file}.new`, file)
    },
    forget: () => rmSync(file, { force: true }),
  }
}
