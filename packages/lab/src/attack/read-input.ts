/** Files that flags name; `-` is stdin. */
import { readFileSync } from 'node:fs'
import { UserError } from '../user-error.ts'

/** @param option that names the file */
export function readInput(file: string, option: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    throw new UserError(`${option} ${file} can not be read: ${(error as Error).message}.`)
  }
}
