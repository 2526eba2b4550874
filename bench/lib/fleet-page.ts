/** The figures of simulated fleets as a page. Pure. */
import { ARMS, type ArmName } from '../../packages/meltproof/sim/fleet/arms.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'

export interface FleetRow {
  readonly set: 'development' | 'held-out'
  readonly name: string
  readonly figures: readonly {
    readonly arm: ArmName
    readonly good: number
    readonly shed: number
    readonly lost: number
    /** Null: never. */
    readonly backS?: number | null
  }[]
}

export interface FleetRows extends Conditions {
  readonly seeds: readonly number[]
  readonly rows: readonly FleetRow[]
}

const percent = (share: number, digits = 1): string => (100 * share).toFixed(digits)

export function fleetPage({ rows, seeds, date, node, cpu, cores }: FleetRows): string {
  const arms = rows[0]?.figures.map(({ arm }) => arm) ?? []
  const table = (set: FleetRow['set']): string =>
    markdownTable(
      ['scenario', ...arms.map(arm => ARMS[arm].name)],
      rows
        .filter(row => row.set === set)
        .map(row => [
          row.name,
          ...row.figures.map(({ good, shed, lost, backS }) =>
            [
              `${percent(good)} / ${percent(shed, 2)}`,
              ...(backS === undefined ? [] : [backS === null ? 'never back' : `back ${backS} s`]),
              ...(lost > 0 ? [`${lost} lost`] : []),
            ].join(', '),
          ),
        ]),
    )
  return `# Simulated fleets: all figures

Written by \`node bench/fleet.ts\` from \`bench/results/fleet.json\`; not by hand. ${date}, Node ${node}, ${cores} cores of ${cpu}; seeds ${seeds.join(', ')}, virtual time.
Goodput in per cent of the ideal / shed in per cent of what was offered; after a change of capacity the seconds until goodput is
97 % again; requests that were begun and lost, or found no process. What it means: [fleets](fleet.md).

## Scenarios that were looked at while building

${table('development')}

## Held out

Written before the simulator had run.

${table('held-out')}
`
}
