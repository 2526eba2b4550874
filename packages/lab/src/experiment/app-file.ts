/** Where the apps are that scenarios start. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of packages/lab/apps. Relative where it can be: command lines stand in reports, for others to repeat. */
export function appFile(name: string): string {
  const file = fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))
  const relative = path.relative('', file)
  return relative.startsWith('..') ? file : relative
}
