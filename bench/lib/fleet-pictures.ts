/** The pictures of docs/fleet.md, in the style of the experiments. Pure. */
import { pictureSvg } from '../../packages/lab/src/report/plot-svg.ts'
import type { BarsPlot, LinesPlot, PanelsPlot, ScenarioArm } from '../../packages/lab/src/report/result.ts'
import type { ArmName } from '../../packages/meltproof/sim/fleet/arms.ts'
import { type FleetCourse, SHORT, SLOWER, STORM, TELL } from './fleet-courses.ts'
import type { FleetFile } from './fleet-page.ts'

export interface FleetPicture {
  readonly file: string
  readonly svg: string
}

const UNEQUAL = 'four unequal, a pool each'
const BARS: readonly ArmName[] = ['bare', 'round-robin', 'least-connections', 'haproxy-least', 'envoy']
const KINDS: Readonly<Record<string, ScenarioArm['kind']>> = {
  [SHORT.bare]: 'bare',
  bare: 'bare',
  [SHORT['haproxy-least']]: 'protected',
  [TELL]: 'protected',
}
const armsOf = (names: readonly string[]): ScenarioArm[] =>
  names.map(name => ({ name, kind: KINDS[name] ?? 'also', what: '' }))
const points = (perSecond: readonly number[]): (readonly [number, number])[] =>
  perSecond.map((value, s) => [s, value] as const)

export function fleetPictures({ all, courses }: FleetFile): FleetPicture[] {
  const course = (scenario: string): FleetCourse => {
    const found = courses.find(each => each.scenario === scenario)
    if (found === undefined) throw new Error(`no course of '${scenario}'`)
    return found
  }
  const unequal = all.rows.find(({ name }) => name === UNEQUAL)
  if (unequal === undefined) throw new Error(`no figures of '${UNEQUAL}'`)
  const bars = BARS.map(name => unequal.figures.find(({ arm }) => arm === name)!)
  const group = (label: string, share: 'good' | 'shed'): BarsPlot['groups'][number] => ({
    label,
    bars: bars.map(figures => ({ arm: SHORT[figures.arm], value: 100 * figures[share] })),
  })
  const shares: BarsPlot = {
    kind: 'bars',
    title:
      'Four instances, ten connections of 50 ms each; one holds them four times as long. Load: 0.9 of what they can do',
    y: { label: 'share of the requests', unit: 'percent' },
    groups: [group('answered within a second', 'good'), group('shed', 'shed')],
  }
  const slower = course(SLOWER)
  const panels: PanelsPlot = {
    kind: 'panels',
    title: 'Requests a second: offered, answered within a second, and sent to each of two instances',
    x: { label: 'time', unit: 's' },
    y: { label: 'requests', unit: 'count' },
    mark: { at: slower.changesAt[0]!, name: 'one becomes four times slower' },
    panels: slower.arms.map(arm => ({
      arm: arm.name,
      says: `${(100 * arm.good).toFixed(1)} % of the ideal`,
      lines: [
        { name: 'offered', style: 'area', points: points(arm.offeredPerS) },
        { name: 'answered in time', style: 'arm', points: points(arm.goodPerS) },
        { name: 'to a fast instance', style: 'solid', points: points(arm.toLastPerS) },
        { name: 'to the instance that becomes slow', style: 'dashed', points: points(arm.toFirstPerS) },
      ],
    })),
  }
  const storm = course(STORM)
  const lines: LinesPlot = {
    kind: 'lines',
    title:
      'Four instances in each of three tiers. From 10 to 15 s the lowest is four times slower; each client tries three times',
    x: { label: 'time', unit: 's' },
    y: { label: 'answered within a second', unit: 'rate' },
    series: storm.arms.map(arm => ({ arm: arm.name, points: points(arm.goodPerS) })),
    levels: [{ value: storm.arms[0]!.idealPerS[storm.changesAt[0]! - 1]!, name: 'possible meanwhile' }],
  }
  const armNames = (of: FleetCourse): string[] => of.arms.map(({ name }) => name)
  return [
    {
      file: 'fleet-unequal.svg',
      svg: pictureSvg(
        shares,
        armsOf(BARS.map(name => SHORT[name])),
        'With round robin, one slow instance wastes capacity of the others',
      ),
    },
    {
      file: 'fleet-slower.svg',
      svg: pictureSvg(panels, armsOf(armNames(slower)), 'One of four becomes four times slower'),
    },
    {
      file: 'fleet-storm.svg',
      svg: pictureSvg(lines, armsOf(armNames(storm)), 'Five slow seconds, and the retries that follow'),
    },
  ]
}
