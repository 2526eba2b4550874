/** Checks before the measurement that a result folder is writable. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs'
import path from 'node:path'
import { UserError } from '../user-error.ts'

/** Creates the folder. @param option names it @throws UserError when nothing can be written there */
export function checkWritable(folder: string, option: string): void {
  const whole = path.resolve(folder)
  try {
    create(whole)
    rmdirSync(mkdtempSync(path.join(whole, '.meltlab-')))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UserError(
      `cannot write to ${whole} (${REASONS[code ?? ''] ?? message}); name another folder with ${option}`,
    )
  }
}

/** Creates the folder with its parents. `mkdirSync` with `recursive` never returns below /proc. */
function create(folder: string): void {
  if (existsSync(folder)) return
  create(path.dirname(folder))
  mkdirSync(folder)
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
