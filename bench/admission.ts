/**
 * The evidence behind docs/admission.md: every limit limiter in every scenario of the simulator, and what each constant of
 * the shipped gate and limiter is worth. Virtual time, seeded: the same figures on every machine, but for the simulator's own
 * speed.
 *
 *   npm run bench:admission [-- --seeds 10] [--only compare|sweep|speed|pictures] [--constants fell,larger]
 *
 * Writes bench/results/admission.json, docs/images/admission-*.svg and the tables in docs/admission.md.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { type Cell, compare, type Speed, speed, type Trace, traces } from './lib/admission-compare.ts'
import { heatMap, limitTraces, loadCurves, sweepPanels } from './lib/admission-pictures.ts'
import { type Sweep, sweep, sweepNames } from './lib/admission-sweep.ts'
import { writeTables } from './lib/admission-tables.ts'
import { type Conditions, conditions } from './lib/conditions.ts'

export interface AdmissionResult extends Conditions {
  readonly seeds: number
  readonly speed: readonly Speed[]
  readonly cells: readonly Cell[]
  readonly traces: readonly Trace[]
  readonly sweepSeeds: number
  readonly sweeps: readonly Sweep[]
}

const options = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '10' },
  'sweep-seeds': { type: 'string', default: '4' },
  only: { type: 'string' },
  constants: { type: 'string' },
})
const seeds = Array.from({ length: options.whole('seeds') }, (_, i) => i + 1)
const sweepSeeds = seeds.slice(0, options.whole('sweep-seeds'))
const docs = join(import.meta.dirname, '../docs')
const file = join(import.meta.dirname, 'results/admission.json')
const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as AdmissionResult) : undefined
const parts = options.chosen('only', ['compare', 'sweep', 'speed', 'pictures'])
const wants = (part: (typeof parts)[number]): boolean => parts.includes(part)
const DATABASE = 'the database three times slower from 10 to 20 s'

const compared = wants('compare') || before === undefined
const result: AdmissionResult = {
  ...(compared ? conditions() : before),
  seeds: compared ? seeds.length : before.seeds,
  speed: wants('speed') || before === undefined ? speed() : before.speed,
  cells: compared ? compare(seeds, name => console.log(name)) : before.cells,
  traces: compared ? traces(DATABASE, Object.keys(LIMITERS), 3) : before.traces,
  sweepSeeds: wants('sweep') ? sweepSeeds.length : (before?.sweepSeeds ?? 0),
  sweeps: wants('sweep') ? sweeps() : (before?.sweeps ?? []),
}
writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`)

const images = join(docs, 'images')
mkdirSync(images, { recursive: true })
const draw = (name: string, svg: string): void => writeFileSync(join(images, `admission-${name}.svg`), svg)
draw('limiters', heatMap(result.cells))
draw('load', loadCurves(result.cells))
draw(
  'database',
  limitTraces(result.traces, 'The limit while the database is three times slower, from 10 to 20 s; grey: the knee', 10),
)
for (const part of ['gate', 'limiter'] as const) {
  const mine = result.sweeps.filter(each => each.of === part)
  if (mine.length > 0) draw(`constants-${part}`, sweepPanels(mine, `The constants of the ${part}: all short scenarios`))
}
writeTables(join(docs, 'admission.md'), result)

function sweeps(): Sweep[] {
  const only = options.values.constants?.split(',')
  const fresh = sweepNames()
    .filter(([, name]) => only === undefined || only.includes(name))
    .map(([of, name]) => {
      console.log(`sweep ${of} ${name}`)
      return sweep(of, name, sweepSeeds)
    })
  const known = [...fresh, ...(before?.sweeps ?? [])]
  return sweepNames().flatMap(([of, name]) => known.find(each => each.of === of && each.name === name) ?? [])
}
