/** Programs that Debian has. Where one is missing its tests skip and say what to install; in CI they fail. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Why the tests of a program are skipped; false when it is there. In CI a missing one is a failure. */
export function skipWithout(binary: string, debianPackage: string): string | false {
  if (pathOf(binary) !== undefined) return false
  const why = `${binary} is not installed: apt-get install ${debianPackage}`
  if (process.env['CI'] !== undefined) throw new Error(why)
  return why
}

export function pathOf(binary: string): string | undefined {
  const found = spawnSync('sh', ['-c', `command -v ${binary}`], { encoding: 'utf8' }).stdout.trim()
  if (found !== '') return found
  return ['/usr/sbin', '/usr/local/sbin'].map(dir => join(dir, binary)).find(existsSync)
}
