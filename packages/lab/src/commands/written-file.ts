/** Reads and writes a user's files, or fails with one sentence. */
import { accessSync, constants, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { WriteFile } from '../report/write.ts'
import { UserError } from '../user-error.ts'
import { REASONS } from './writable-folder.ts'

/** Checks before the measurement that a file is writable, without creating it. */
export function checkWritableFile(file: string, option: string): void {
  try {
    if (existsSync(file)) {
      if (statSync(file).isDirectory()) throw new UserError(`${option} must be a file, ${file} is a folder`)
      accessSync(file, constants.W_OK)
    } else {
      accessSync(path.dirname(path.resolve(file)), constants.W_OK)
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(`${file} cannot be written (${reason(error)}); name another file with ${option}`)
  }
}

export function writeText(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new UserError(`${file} could not be written: ${reason(error)}`)
  }
}

/** Stores a result in the folder for temporary files, which may be on another disk. Undefined if that fails too. */
export function keepElsewhere(name: string, text: string, write: WriteFile = writeFileSync): string | undefined {
  const file = path.join(tmpdir(), name)
  try {
    write(file, text)
    return file
  } catch {
    rmSync(file, { force: true })
    return undefined
  }
}

export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
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
