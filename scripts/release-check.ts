/**
 * `node scripts/release-check.ts v1.2.3`: checks that both packages have this version, that the lab requires this
 * version of the runtime, and that the CHANGELOG has a dated heading for it. Ends with 1 and a sentence for each fault.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Manifest {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const root = join(import.meta.dirname, '..')

export function releaseFaults(tag: string, runtime: Manifest, lab: Manifest, changelog: string): string[] {
  const version = tag.replace(/^v/, '')
  const heading = changelog.split('\n').find(line => line.startsWith(`## ${version} `))
  return [
    /^v\d+\.\d+\.\d+/.test(tag) ? '' : `the tag must be a version such as v1.2.3; it is ${tag || 'missing'}`,
    runtime.version === version ? '' : `meltproof has the version ${runtime.version}, the tag says ${version}`,
    lab.version === version ? '' : `meltlab has the version ${lab.version}, the tag says ${version}`,
    lab.dependencies?.['meltproof'] === version ? '' : `meltlab needs meltproof ${lab.dependencies?.['meltproof']}`,
    /\(\d{4}-\d\d-\d\d\)$/.test(heading ?? '') ? '' : `CHANGELOG.md has no heading '## ${version} (YYYY-MM-DD)'`,
  ].filter(fault => fault !== '')
}

if (import.meta.main) {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const manifest = (folder: string): Manifest => JSON.parse(read(`packages/${folder}/package.json`)) as Manifest
  const faults = releaseFaults(process.argv[2] ?? '', manifest('meltproof'), manifest('lab'), read('CHANGELOG.md'))
  for (const fault of faults) console.error(`release check: ${fault}`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
