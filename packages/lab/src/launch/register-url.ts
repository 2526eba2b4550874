/** Locates meltproof's zero-code entry, which exists once that package is built. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UserError } from '../user-error.ts'

export function registerUrl(): string {
  const url = import.meta.resolve('meltproof/register')
  if (!existsSync(fileURLToPath(url))) {
    throw new UserError(`meltproof is not built: ${fileURLToPath(url)} is missing; in a checkout run npm run build`)
  }
  return url
}
