/**
 * Simulates fleets with load reports or agent checks, and fleets without: every scenario of
 * packages/meltproof/sim/fleet behind every balancer, on a virtual clock. About three minutes a seed, and three more
 * for the fleet of a thousand.
 *
 *   node bench/fleet.ts [--only haproxy,envoy] [--seeds 1,2,3] [--thousand]
 *   node bench/fleet.ts --pages
 *
 * Writes bench/results/fleet.json, and from it docs/fleet-figures.md and the pictures of docs/fleet.md.
 *
 * `--only` simulates only these balancers, and prints without writing. `--thousand` runs only the fleet of a thousand,
 * with the first seed and behind four of the balancers; the other figures stay. `--pages` simulates nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ARMS, type ArmName } from '../packages/meltproof/sim/fleet/arms.ts'
import { DEVELOPMENT, THOUSAND } from '../packages/meltproof/sim/fleet/development.ts'
import { simulateFleet } from '../packages/meltproof/sim/fleet/fleet.ts'
import { HELD_OUT } from '../packages/meltproof/sim/fleet/held-out.ts'
import { figuresOf, type FleetScenario } from '../packages/meltproof/sim/fleet/scenario.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { measuredCourses } from './lib/fleet-courses.ts'
import { type FleetFile, type FleetRow, type FleetRun, fleetPage } from './lib/fleet-page.ts'
import { fleetPictures } from './lib/fleet-pictures.ts'
import { measuredScaling } from './lib/fleet-scaling.ts'

const RESULT = join(import.meta.dirname, 'results/fleet.json')
const DOCS = join(import.meta.dirname, '../docs')
const OF_A_THOUSAND: readonly ArmName[] = ['round-robin', 'least-connections', 'haproxy-least', 'envoy']

const options = scriptOptions(import.meta.filename, {
  only: { type: 'string' },
  seeds: { type: 'string', default: '1' },
  thousand: { type: 'boolean', default: false },
  pages: { type: 'boolean', default: false },
})
const { only, thousand, pages } = options.values
const chosen = options.chosen('only', Object.keys(ARMS) as ArmName[])
const arms = thousand && only === undefined ? OF_A_THOUSAND : chosen
const given = options.values.seeds.split(',').map(Number)
if (given.some(seed => !Number.isSafeInteger(seed)))
  options.refuse(`--seeds takes whole numbers; got '${options.values.seeds}'`)
const seeds = thousand ? given.slice(0, 1) : given
const progress = (words: string): void => void process.stderr.write(`${words}\n`)

const rowsOf = (set: FleetRow['set'], scenarios: readonly FleetScenario[]): FleetRow[] =>
  scenarios.map(scenario => {
    const figures = arms.map(arm => {
      progress(`${set}: ${scenario.name}: ${arm}`)
      const startedAt = performance.now()
      const runs = seeds.map(seed => figuresOf(scenario, simulateFleet(scenario, ARMS[arm], seed)))
      const mean = (each: (run: (typeof runs)[number]) => number): number =>
        Number((runs.reduce((sum, run) => sum + each(run), 0) / runs.length).toFixed(4))
      const back = Math.max(...runs.map(({ backAfter = 0 }) => backAfter))
      return {
        arm,
        good: mean(run => run.good),
        shed: mean(run => run.shed),
        lost: runs.reduce((sum, { lost }) => sum + lost, 0),
        // JSON has no infinity.
        ...(scenario.changesAt !== undefined && { backS: Number.isFinite(back) ? back : null }),
        ...(thousand && { tookS: Math.round((performance.now() - startedAt) / 1000) }),
      }
    })
    return { set, name: scenario.name, figures }
  })

const runOf = (rows: () => readonly FleetRow[]): FleetRun => ({ ...conditions(), seeds, rows: rows() })
const all = (): FleetRun => runOf(() => [...rowsOf('development', DEVELOPMENT), ...rowsOf('held-out', HELD_OUT)])
const aThousand = (): FleetRun => runOf(() => rowsOf('thousand', [THOUSAND]))
const before = (): Partial<FleetFile> => {
  try {
    return JSON.parse(readFileSync(RESULT, 'utf8')) as FleetFile
  } catch {
    return {}
  }
}

if (only !== undefined) {
  process.stdout.write(fleetPage(thousand ? { thousand: aThousand() } : { all: all() }))
} else {
  const measured: Partial<FleetFile> = pages
    ? {}
    : thousand
      ? { thousand: aThousand() }
      : { all: all(), courses: measuredCourses(seeds[0]!, progress), scaling: measuredScaling(seeds[0]!, progress) }
  const found = { ...before(), ...measured }
  if (!pages) writeFileSync(RESULT, `${JSON.stringify(found)}\n`)
  writeFileSync(join(DOCS, 'fleet-figures.md'), fleetPage(found))
  if (found.all !== undefined && found.courses !== undefined)
    for (const { file, svg } of fleetPictures(found as FleetFile)) writeFileSync(join(DOCS, 'images', file), svg)
}
