/**
 * Fleets that are told and fleets that are not: every scenario of packages/meltproof/sim/fleet behind every balancer, on a
 * virtual clock. About two minutes.
 *
 *   node bench/fleet.ts [--only haproxy,envoy] [--seeds 1,2,3] [--quick]
 *
 * `--only` names balancers; `--quick` leaves out the fleet of a thousand. Both write to stdout alone; without them also bench/results/fleet.json, and docs/fleet-figures.md from it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ARMS, type ArmName } from '../packages/meltproof/sim/fleet/arms.ts'
import { DEVELOPMENT, THOUSAND } from '../packages/meltproof/sim/fleet/development.ts'
import { simulateFleet } from '../packages/meltproof/sim/fleet/fleet.ts'
import { HELD_OUT } from '../packages/meltproof/sim/fleet/held-out.ts'
import { figuresOf, type FleetScenario } from '../packages/meltproof/sim/fleet/scenario.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { type FleetRow, fleetPage } from './lib/fleet-page.ts'

const options = scriptOptions(import.meta.filename, {
  only: { type: 'string' },
  seeds: { type: 'string', default: '1' },
  quick: { type: 'boolean', default: false },
})
const { only, quick } = options.values
const arms = options.chosen('only', Object.keys(ARMS) as ArmName[])
const seeds = options.values.seeds.split(',').map(Number)
if (seeds.some(seed => !Number.isSafeInteger(seed)))
  options.refuse(`--seeds takes whole numbers; got '${options.values.seeds}'`)

const rowsOf = (set: FleetRow['set'], scenarios: readonly FleetScenario[], of: readonly number[] = seeds): FleetRow[] =>
  scenarios.map(scenario => {
    const figures = arms.map(arm => {
      process.stderr.write(`${set}: ${scenario.name}: ${arm}\n`)
      const runs = of.map(seed => figuresOf(scenario, simulateFleet(scenario, ARMS[arm], seed)))
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
      }
    })
    return { set, name: scenario.name, figures }
  })

const result = {
  ...conditions(),
  seeds,
  rows: [
    ...rowsOf('development', DEVELOPMENT),
    ...rowsOf('held-out', HELD_OUT),
    ...(quick ? [] : rowsOf('development', [THOUSAND])),
  ],
}
const page = fleetPage(result)
process.stdout.write(page)
if (only === undefined && !quick) {
  writeFileSync(join(import.meta.dirname, 'results/fleet.json'), `${JSON.stringify(result, null, 1)}\n`)
  writeFileSync(join(import.meta.dirname, '../docs/fleet-figures.md'), page)
}
