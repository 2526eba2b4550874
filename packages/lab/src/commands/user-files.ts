/** Reads and writes a user's files and folders, or fails with one sentence. */
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { WriteFile } from '../report/write.ts'
import { UserError } from '../user-error.ts'

/** Creates the folder, before the measurement. @throws UserError when nothing can be written there */
export function checkWritable(folder: string, option: string): void {
  const whole = path.resolve(folder)
  try {
    create(whole)
    fs.rmdirSync(fs.mkdtempSync(path.join(whole, '.meltlab-')))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UserError(
      `cannot write to ${whole} (${REASONS[code ?? ''] ?? message}); name another folder with ${option}`,
    )
  }
}

/** Creates the folder with its parents. `mkdirSync` with `recursive` never returns below /proc. */
function create(folder: string): void {
  if (fs.existsSync(folder)) return
  create(path.dirname(folder))
  fs.mkdirSync(folder)
}

/** Checks before the measurement that a file is writable, without creating it. */
export function checkWritableFile(file: string, option: string): void {
  try {
    if (fs.existsSync(file)) {
      if (fs.statSync(file).isDirectory()) throw new UserError(`${option} must be a file, ${file} is a folder`)
      fs.accessSync(file, fs.constants.W_OK)
    } else {
      fs.accessSync(path.dirname(path.resolve(file)), fs.constants.W_OK)
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(`${file} cannot be written (${reason(error)}); name another file with ${option}`)
  }
}

export function writeText(file: string, text: string): void {
  try {
    fs.writeFileSync(file, text)
  } catch (error) {
    throw new UserError(`${file} could not be written: ${reason(error)}`)
  }
}

/** Stores a result in the folder for temporary files, which may be on another disk. Undefined if that fails too. */
export function keepElsewhere(name: string, text: string, write: WriteFile = fs.writeFileSync): string | undefined {
  const file = path.join(tmpdir(), name)
  try {
    write(file, text)
    return file
  } catch {
    fs.rmSync(file, { force: true })
    return undefined
  }
}

export function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UserError(`there is no file ${file}`)
    throw new UserError(`${file} cannot be read: ${reason(error)}`)
  }
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such folder'
  return REASONS[code ?? ''] ?? message
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
