/** Creates folders for temporary files. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { UserError } from './user-error.ts'

/** A folder that only this user can read. @throws UserError */
export function privateFolder(name: string): string {
  try {
    return mkdtempSync(path.join(tmpdir(), `meltlab-${name}-`))
  } catch (error) {
    throw temporaryError(error)
  }
}

/** The error for a folder of temporary files that cannot be written, or whose path is too long for a socket. */
export const temporaryError = (error: unknown): UserError =>
  new UserError(
    `the folder for temporary files cannot be written (${(error as Error).message}); set TMPDIR to a writable folder with a short path`,
  )
