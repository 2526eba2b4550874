/** Locates the apps that scenarios start. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of packages/lab/apps. Relative if possible, because reports contain command lines for others to repeat. */
export function appFile(name: string): string {
  const file = fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))
  const relative = path.relative('', file)
  return relative.startsWith('..') ? file : relative
}

/** The packages that an app in packages/lab/apps could not import. */
export function missingPackages(names: readonly string[]): readonly string[] {
  const apps = createRequire(fileURLToPath(new URL('../../apps/', import.meta.url)))
  // `resolve` would fail for a package without an entry for require().
  return names.filter(name => !apps.resolve.paths(name)?.some(folder => existsSync(path.join(folder, name))))
}
