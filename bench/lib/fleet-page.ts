/** The figures of simulated fleets as a page. Pure. */
import { ARMS, type ArmName } from '../../packages/meltproof/sim/fleet/arms.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'
import type { FleetCourse } from './fleet-courses.ts'
import type { FleetScaling } from './fleet-scaling.ts'

export interface FleetRow {
  readonly set: 'development' | 'held-out' | 'thousand'
  readonly name: string
  readonly figures: readonly {
    readonly arm: ArmName
    readonly good: number
    readonly shed: number
    readonly lost: number
    /** Null if it never recovered. */
    readonly backS?: number | null
    /** Real time that the run took, s. */
    readonly tookS?: number
  }[]
}

export interface FleetRun extends Conditions {
  readonly seeds: readonly number[]
  readonly rows: readonly FleetRow[]
}

export interface FleetFile {
  readonly all: FleetRun
  readonly courses: readonly FleetCourse[]
  readonly scaling: readonly FleetScaling[]
  readonly thousand?: FleetRun
}

const percent = (share: number, digits = 1): string => (100 * share).toFixed(digits)
const where = ({ date, node, cores, cpu, seeds }: FleetRun): string =>
  `${date}, Node ${node}, ${cores} cores of ${cpu}; ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')}.`

export function fleetPage({ all, thousand, scaling }: Partial<FleetFile>): string {
  const sections = [
    ...(all === undefined
      ? []
      : [
          '## Scenarios used during development',
          where(all),
          table(all, 'development'),
          '## Held out',
          'Written before the simulator had run.',
          table(all, 'held-out'),
        ]),
    ...(scaling === undefined
      ? []
      : [
          '## The autoscaler',
          'Six instances at the target of 0.7 get three times the load at 20 s. `deploy/kubernetes/hpa.yaml` evaluates the mean `load`, or the busy share of the loops, every 15 s. The number of instances that it requests each time, from the last evaluation before the change.',
          markdownTable(
            ['service', 'behind', 'by', 'right', 'asked for'],
            scaling.map(({ service, arm, metric, right, counts }) => [
              service,
              ARMS[arm].name,
              metric,
              String(right),
              counts.join(', '),
            ]),
          ),
        ]),
    ...(thousand === undefined
      ? []
      : ['## A thousand instances', `${where(thousand)} Last: the real time of the run.`, table(thousand, 'thousand')]),
  ]
  return `# Simulated fleets: all figures

Written by \`npm run bench:fleet\` from \`bench/results/fleet.json\`; not by hand. Virtual time: the figures are those of any machine.
Goodput in per cent of the ideal / shed in per cent of what was offered; after a change of capacity the seconds until goodput is
97 % again; requests that were started and lost, or found no process. Their meaning: [fleets](fleet.md).

${sections.join('\n\n')}
`
}

function table({ rows }: FleetRun, set: FleetRow['set']): string {
  const arms = rows[0]?.figures.map(({ arm }) => arm) ?? []
  return markdownTable(
    ['scenario', ...arms.map(arm => ARMS[arm].name)],
    rows
      .filter(row => row.set === set)
      .map(row => [
        row.name,
        ...row.figures.map(({ good, shed, lost, backS, tookS }) =>
          [
            `${percent(good)} / ${percent(shed, 2)}`,
            ...(backS === undefined ? [] : [backS === null ? 'never back' : `back ${backS} s`]),
            ...(lost > 0 ? [`${lost} lost`] : []),
            ...(tookS === undefined ? [] : [`${tookS} s`]),
          ].join(', '),
        ),
      ]),
  )
}
