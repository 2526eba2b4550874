/**
 * What each rule and each constant of admission is worth: every variant is the source with one edit, on the simulated
 * scenarios (all sets but `thirty`). Virtual time; some ten seconds a variant and seed.
 *
 *   npm run bench:admission [-- --seeds 1,2] [--only samples,fell] [--write]
 *
 * Writes bench/results/admission.json, where what was measured before is kept, and docs/admission-curves.md from it.
 * `--write` measures nothing. How it does against other limiters: bench/admission-held-out.ts.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptOptions } from '../scripts/script-options.ts'
import { CONSTANTS, RULES } from './lib/admission-edits.ts'
import { type AdmissionResult, admissionCurves, type Variant } from './lib/admission-curves.ts'
import { figuresOf, type Outcome } from './lib/admission-sets.ts'
import { conditions } from './lib/conditions.ts'
import type { Edit } from './lib/edited-source.ts'

const options = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '1,2' },
  only: { type: 'string' },
  write: { type: 'boolean', default: false },
})
const { seeds, write } = options.values
const names = [...RULES.map(({ name }) => name), ...CONSTANTS.map(({ name }) => name)]
const chosen = options.chosen('only', names)
const file = join(import.meta.dirname, 'results/admission.json')
const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as AdmissionResult) : undefined
const docs = join(import.meta.dirname, '../docs/admission-curves.md')
if (write && before !== undefined) writeFileSync(docs, admissionCurves(before))
else measure()

function measure(): void {
  const wanted: [name: string, value: string, edits: readonly Edit[]][] = [
    ['', '', []],
    ...RULES.map(({ name, edits }) => [name, '', edits] as [string, string, readonly Edit[]]),
    ...CONSTANTS.flatMap(({ name, shipped, values, editFor }) =>
      values
        .filter(value => value !== shipped)
        .map(value => [name, value, [editFor(value)]] as [string, string, readonly Edit[]]),
    ),
  ]
  let variants = (before?.variants ?? []).filter(({ name }) => names.includes(name) && !chosen.includes(name))
  const where = conditions()
  for (const [name, value, edits] of wanted) {
    if (name !== '' && !chosen.includes(name)) continue
    console.log(`${name} ${value}`)
    variants = [...variants, { name, value, sets: summed(outcomesWith(edits)) }]
    const result: AdmissionResult = { ...where, seeds, variants }
    writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`)
    writeFileSync(docs, admissionCurves(result))
  }
}

function outcomesWith(edits: readonly Edit[]): Readonly<Record<string, readonly Outcome[]>> {
  const lib = join(import.meta.dirname, 'lib')
  const text = execFileSync(
    process.execPath,
    ['--import', join(lib, 'edited-source.ts'), join(lib, 'admission-outcomes.ts'), seeds],
    { encoding: 'utf8', env: { ...process.env, MELT_EDITS: JSON.stringify(edits) } },
  )
  return JSON.parse(text) as Record<string, readonly Outcome[]>
}

function summed(outcomes: Readonly<Record<string, readonly Outcome[]>>): Variant['sets'] {
  return Object.fromEntries(
    Object.entries(outcomes).map(([set, mine]) => {
      const { mean, worst, below, falseSheds } = figuresOf(mine)
      return [set, { mean, worst: worst?.good ?? 1, below, falseSheds }]
    }),
  )
}
