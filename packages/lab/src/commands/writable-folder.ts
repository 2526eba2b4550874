/** Checks before the measurement that a result folder is writable. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import path from 'node:path'
import { UserError } from '../user-error.ts'

/** Removes what it creates. @param option names the folder @throws UserError when nothing can be written there */
export function checkWritable(folder: string, option: string): void {
  const whole = path.resolve(folder)
  const missing: string[] = []
  for (let each = whole; !existsSync(each); each = path.dirname(each)) missing.unshift(each)
  const made: string[] = []
  try {
    // `recursive` is not used, because below /proc it never returns.
    for (const each of missing) {
      mkdirSync(each)
      made.unshift(each)
    }
    rmdirSync(mkdtempSync(path.join(whole, '.meltlab-')))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UserError(
      `nothing can be written to ${whole} (${REASONS[code ?? ''] ?? message}); name another folder with ${option}`,
    )
  } finally {
    removeEmpty(made)
  }
}

export const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'it is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a file is in the way',
  EEXIST: 'a file is in the way',
  ENOENT: 'no folder can be created there',
}

/** Stops at a folder in which another process has created a file meanwhile. */
function removeEmpty(folders: readonly string[]): void {
  try {
    for (const each of folders) rmdirSync(each)
  } catch {}
}
