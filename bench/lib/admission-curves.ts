/** docs/admission-curves.md, from what bench/admission.ts measured. Pure. */
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import { CONSTANTS, RULES } from './admission-edits.ts'
import type { Conditions } from './conditions.ts'

export interface Variant {
  /** Of the rule or constant; empty for what ships. */
  readonly name: string
  /** The constant's; empty for a rule that is off. */
  readonly value: string
  readonly sets: Readonly<Record<string, SetFigures>>
}

export interface SetFigures {
  /** Goodput of the ideal: mean and worst of the scenarios. */
  readonly mean: number
  readonly worst: number
  /** Scenarios below 75 %. */
  readonly below: number
  /** Scenarios that shed where nobody must be shed. */
  readonly falseSheds: number
}

export interface AdmissionResult extends Conditions {
  readonly seeds: string
  readonly variants: readonly Variant[]
}

const SETS = ['tuned', 'development', 'held-out', 'unseen', 'fresh']
const percent = (share: number): string => (100 * share).toFixed(1)
const total = (sets: Variant['sets'], key: 'below' | 'falseSheds'): number =>
  Object.values(sets).reduce((sum, each) => sum + each[key], 0)
const average = (sets: Variant['sets']): number => SETS.reduce((sum, set) => sum + sets[set]!.mean, 0) / SETS.length

export function admissionCurves(result: AdmissionResult): string {
  const ships = result.variants.find(({ name }) => name === '')!
  const of = (name: string): readonly Variant[] => result.variants.filter(each => each.name === name)
  const figures = ({ sets }: Variant): string[] => [
    ...SETS.map(set => {
      const change = 100 * (sets[set]!.mean - ships.sets[set]!.mean)
      const worst = 100 * (sets[set]!.worst - ships.sets[set]!.worst)
      const fell = worst <= -1 ? ` (worst ${worst.toFixed(0)})` : ''
      return Math.abs(change) < 0.05 ? `0${fell}` : `${change > 0 ? '+' : ''}${change.toFixed(1)}${fell}`
    }),
    String(total(sets, 'below')),
    String(total(sets, 'falseSheds')),
  ]
  const point = (value: string, { sets }: Variant): string =>
    `${value}: ${percent(average(sets))} / ${total(sets, 'below')} / ${total(sets, 'falseSheds')}`
  const rules = RULES.flatMap(({ name, what }) => of(name).map(variant => [what, ...figures(variant)]))
  const unmeasured = CONSTANTS.filter(({ name }) => of(name).length === 0).map(({ name }) => `\`${name}\``)
  const constants = CONSTANTS.filter(({ name }) => of(name).length > 0).map(({ name, shipped, values, reason }) => [
    `\`${name}\``,
    reason,
    values
      .flatMap(value => {
        const variant = value === shipped ? ships : of(name).find(each => each.value === value)
        if (variant === undefined) return []
        return value === shipped ? `**${point(value, variant)}**` : point(value, variant)
      })
      .join('<br>'),
  ])
  return `# Admission: what each rule and constant is worth

Written by \`npm run bench:admission\` from \`bench/results/admission.json\`; not by hand. ${result.date}, Node ${result.node},
${result.cores} cores of ${result.cpu}; seeds ${result.seeds}, virtual time. What the words mean: [how meltproof decides](admission.md).

What ships, goodput of the ideal in per cent: ${SETS.map(set => `${set} ${percent(ships.sets[set]!.mean)}`).join(', ')};
${total(ships.sets, 'below')} scenarios below 75 %, ${total(ships.sets, 'falseSheds')} that shed where nobody must be shed (cold starts near
the capacity among them).

## Without a rule

The change of the mean goodput of each set, in points; then the scenarios below 75 %, and those that shed falsely.

${markdownTable(['without', ...SETS, 'below 75 %', 'false sheds'], rules)}

Rules that hardly move an average are kept for one run that fails without them (\`packages/meltproof/test/admission\`, five
seeds): giving up a probe (\`seconds behind few connections\`), no limit where few wait (\`pool at 80 %\`), a rise within the batch
(a gateway beside a health page sheds half in one seed of three), stalls (\`one stall of a second\`), half the limit where clients give up
(\`impatient clients of a pool\`), hopeless growth (\`the core at 10x, and one request in ten waits 10 s\`).

## The constants

Each value with the mean goodput of the five sets in per cent, the scenarios below 75 %, and those that shed falsely; bold
is what ships. Time in milliseconds where the name ends in \`Ms\` or \`MS\`.

${markdownTable(['constant', 'what it is', 'value: goodput / below 75 % / false sheds'], constants)}
${unmeasured.length === 0 ? '' : `\nNot measured since the limiter was redrawn: ${unmeasured.join(', ')}.\n`}`
}
