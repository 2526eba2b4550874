/**
 * A digest of the code that produced the figures of a scenario: its script, the files of src/scenarios that the
 * script imports, and its apps, without comments and without code that only judges or shows figures.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ScenarioResult } from '../report/result.ts'

/** Increase this number when the load engine, or other code outside scenarios, changes what is measured. */
const FRAME = 1

const LAB = fileURLToPath(new URL('../..', import.meta.url))
const OF_FIGURES = /^(?!.*-(?:view|expects)\.ts$)/

/** Undefined without sources, as in the published package. */
export function scriptDigest(name: string, lab: string = LAB): string | undefined {
  const script = path.join(lab, 'src/scenarios', `${name}.ts`)
  if (!existsSync(script)) return undefined
  const hash = createHash('sha256').update(String(FRAME))
  for (const file of sourcesOf(script, lab)) hash.update(`\n${path.basename(file)}\n${codeOf(file)}`)
  return hash.digest('hex').slice(0, 12)
}

/** True if the result was measured by another version of the script; false without sources. */
export function isOlder({ name, conditions }: Pick<ScenarioResult, 'name' | 'conditions'>): boolean {
  const script = scriptDigest(name)
  return script !== undefined && script !== conditions.script
}

function sourcesOf(script: string, lab: string): readonly string[] {
  const found = new Set([script])
  // Iterating a set includes elements that the loop adds.
  for (const file of found) {
    const beside = [...codeOf(file).matchAll(/(?:from|import) '\.\/([^']+)'/g)]
    const apps = [...codeOf(file).matchAll(/'([\w/-]+\.(?:js|go))'/g)]
    const named = [
      ...beside.map(([, name]) => path.join(path.dirname(file), name!)),
      ...apps.map(([, name]) => path.join(lab, 'apps', name!)),
    ]
    for (const other of named) if (OF_FIGURES.test(other) && existsSync(other)) found.add(other)
  }
  return [...found].sort()
}

const codeOf = (file: string): string =>
  readFileSync(file, 'utf8')
    .replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
