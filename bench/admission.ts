/**
 * Measures what each rule and each constant of admission contributes. Each variant is the source with one edit. It runs
 * on all sets of simulated scenarios except the final one (lib/measured-run.ts), in virtual time, which takes 25 s of
 * one core per variant and seed.
 *
 *   npm run bench:admission [-- --seeds 1,2] [--constants 1] [--only samples,fell] [--threads 2] [--write]
 *
 * `--seeds` applies to the rules, `--constants` to the constants. Writes bench/results/admission.json, where variants
 * that are not measured now keep their figures, and docs/admission-curves.md from it. `--write` only writes the page.
 * bench/admission-held-out.ts compares meltproof with other limiters.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { scriptOptions } from '../scripts/script-options.ts'
import { type AdmissionResult, admissionCurves, type Variant } from './lib/admission-curves.ts'
import { CONSTANTS, RULES } from './lib/admission-edits.ts'
import { conditions } from './lib/conditions.ts'
import type { Edit } from './lib/edited-source.ts'

interface Wanted extends Pick<Variant, 'name' | 'value' | 'seeds'> {
  readonly edits: readonly Edit[]
}

const options = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '1,2' },
  constants: { type: 'string', default: '1' },
  only: { type: 'string' },
  threads: { type: 'string', default: String(availableParallelism()) },
  write: { type: 'boolean', default: false },
})
const { seeds, constants, write } = options.values
const names = [...RULES.map(({ name }) => name), ...CONSTANTS.map(({ name }) => name)]
const chosen = options.chosen('only', names)
const file = join(import.meta.dirname, 'results/admission.json')
const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as AdmissionResult) : undefined
const docs = join(import.meta.dirname, '../docs/admission-curves.md')
if (write && before !== undefined) writeFileSync(docs, admissionCurves(before))
else await measure()

async function measure(): Promise<void> {
  const rules = RULES.map(({ name, edits }) => ({ name, value: '', seeds, edits }))
  const values = CONSTANTS.flatMap(({ name, shipped, values, editFor }) =>
    values
      .filter(value => value !== shipped)
      .map(value => ({ name, value, seeds: constants, edits: [editFor(value)] })),
  )
  const all: readonly Wanted[] = [...rules, ...values].filter(({ name }) => chosen.includes(name))
  const ships = [...new Set(all.map(each => each.seeds))].map(each => ({ name: '', value: '', seeds: each, edits: [] }))
  const wanted: readonly Wanted[] = [...ships, ...all]
  const isMeasured = (each: Variant): boolean =>
    wanted.some(({ name, seeds }) => name === each.name && (name !== '' || seeds === each.seeds))
  let variants = (before?.variants ?? []).filter(
    each => (each.name === '' || names.includes(each.name)) && !isMeasured(each),
  )
  const where = conditions()
  let next = 0
  const oneAtATime = async (): Promise<void> => {
    for (let at = next++; at < wanted.length; at = next++) {
      const { name, value, seeds, edits } = wanted[at]!
      const sets = await setsWith(edits, seeds)
      variants = [...variants, { name, value, seeds, sets }]
      console.log(`${at + 1} of ${wanted.length}: ${name} ${value}`)
      const result: AdmissionResult = { ...where, variants }
      writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`)
    }
  }
  await Promise.all(Array.from({ length: options.whole('threads') }, oneAtATime))
  writeFileSync(docs, admissionCurves({ ...where, variants }))
}

async function setsWith(edits: readonly Edit[], seeds: string): Promise<Variant['sets']> {
  const lib = join(import.meta.dirname, 'lib')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', join(lib, 'edited-source.ts'), join(lib, 'admission-outcomes.ts'), seeds],
    { encoding: 'utf8', env: { ...process.env, MELT_EDITS: JSON.stringify(edits) } },
  )
  return JSON.parse(stdout) as Variant['sets']
}
