/** Programs from Debian packages. If one is missing, its tests are skipped with the package's name; in CI they fail. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Returns why the tests of a program are skipped, or false when it is installed. In CI a missing program throws. */
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
