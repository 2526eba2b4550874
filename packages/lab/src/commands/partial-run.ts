/** What a kept run has measured so far, in a file beside its result, so that it goes on where it was stopped. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Scenario } from '../experiment/scenario.ts'
import type { Form } from '../report/result.ts'

export interface PartialRun {
  readonly resumed?: unknown
  readonly onCheckpoint: (measured: unknown) => void
  /** The run has ended. */
  forget(): void
}

/** A part of another form has other durations and is not used. */
export function partialRun(file: string, { resumes }: Scenario<unknown>, form: Form): PartialRun {
  const found = resumes === true && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
  return {
    ...(found?.form === form ? { resumed: found.measured } : {}),
    onCheckpoint(measured) {
      // All or nothing: a run that is killed leaves no half file.
      writeFileSync(`${file}.new`, JSON.stringify({ form, measured }))
      renameSync(`${file}.new`, file)
    },
    forget: () => rmSync(file, { force: true }),
  }
}
