/** The version of a package in the manifest of an app. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sourceFolder } from './install.ts'

export function dependencyVersion(name: string, main: string): string {
  const manifest = JSON.parse(readFileSync(join(sourceFolder(name), 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>
  }
  const version = manifest.dependencies[main]
  if (version === undefined) throw new Error(`apps/${name}/source/package.json does not depend on ${main}`)
  return version
}
