/** A folder that results will be written to: tried before anything is measured, not after. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import path from 'node:path'
import { UserError } from '../user-error.ts'

/**
 * Leaves nothing behind.
 * @param option that names the folder
 * @throws UserError when nothing can be written there
 */
export function checkWritable(folder: string, option: string): void {
  const whole = path.resolve(folder)
  const missing: string[] = []
  for (let each = whole; !existsSync(each); each = path.dirname(each)) missing.unshift(each)
  const made: string[] = []
  try {
    // Not `recursive`: below /proc that never returns.
    for (const each of missing) {
      mkdirSync(each)
      made.unshift(each)
    }
    rmdirSync(mkdtempSync(path.join(whole, '.meltlab-')))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UserError(
      `nothing can be written to ${whole} (${REASONS[code ?? ''] ?? message}); ${option} names another folder`,
    )
  } finally {
    removeEmpty(made)
  }
}

/** Why nothing could be written, by the code of the error. */
export const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'it is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a file is in the way',
  EEXIST: 'a file is in the way',
  ENOENT: 'no folder can be made there',
}

/** Somebody else may have put something there meanwhile. */
function removeEmpty(folders: readonly string[]): void {
  try {
    for (const each of folders) rmdirSync(each)
  } catch {}
}
