/** Reads the files that flags name; `-` is stdin. */
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { UserError } from '../user-error.ts'

export async function readInput(file: string, option: string): Promise<Buffer> {
  try {
    // stdin is read as a stream: its writer may be slow, and Ctrl-C must end the wait.
    return file === '-' ? await buffer(process.stdin) : readFileSync(file)
  } catch (error) {
    throw new UserError(`${option} ${file} cannot be read: ${(error as Error).message}.`)
  }
}
