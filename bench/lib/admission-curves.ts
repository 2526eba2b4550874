/** Makes docs/admission-curves.md from the results of bench/admission.ts. Pure. */
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import { CONSTANTS, RULES } from './admission-edits.ts'
import type { SetSummary } from './admission-sets.ts'
import type { Conditions } from './conditions.ts'

export interface SetFigures extends Omit<SetSummary, 'worst'> {
  /** Goodput of the worst scenario. */
  readonly worst: number
}

export interface Variant {
  /** Name of the rule or constant; empty for the shipped source. */
  readonly name: string
  /** Value of the constant; empty for a rule that is switched off. */
  readonly value: string
  readonly seeds: string
  readonly sets: Readonly<Record<string, SetFigures>>
}

export interface AdmissionResult extends Conditions {
  readonly variants: readonly Variant[]
}

type Share = 'mean' | 'shed' | 'late'
type Sets = Variant['sets']

/** Percentage points. A set that changes by at least this is named; a rule that changes no set by this is listed. */
const MOVED = 0.5
/** A set is named if its worst scenario falls by at least this. Percentage points. */
const FELL = 1

const percent = (share: number): string => (100 * share).toFixed(1)
const signed = (points: number): string =>
  Math.abs(points) < 0.05 ? '0' : `${points > 0 ? '+' : ''}${points.toFixed(1)}`
const total = (sets: Sets, key: 'below' | 'falseSheds'): number =>
  Object.values(sets).reduce((sum, each) => sum + each[key], 0)

/** The sets for which the figure is meaningful: goodput where capacity is scarce, sheds where it suffices. */
function setsOf(sets: Sets, key: Share): string[] {
  const says = ({ overloaded, ample }: SetFigures): boolean =>
    key === 'mean' ? overloaded > 0 : key === 'shed' ? ample > 0 : true
  return Object.keys(sets).filter(set => says(sets[set]!))
}

function average(sets: Sets, key: Share): number {
  const names = setsOf(sets, key)
  return names.reduce((sum, set) => sum + sets[set]![key], 0) / names.length
}

interface Change {
  readonly set: string
  readonly points: number
}

/** The changes, in the order of the sets. */
function changesOf(sets: Sets, ships: Sets, key: Share): Change[] {
  return setsOf(ships, key).map(set => ({ set, points: 100 * (sets[set]![key] - ships[set]![key]) }))
}

const largest = (changes: readonly Change[]): Change =>
  changes.reduce((most, each) => (Math.abs(each.points) > Math.abs(most.points) ? each : most))

/** The largest change of any figure of any set, in points. */
function mostMoved(sets: Sets, ships: Sets): number {
  const changes = (['mean', 'shed', 'late'] as const).flatMap(key => changesOf(sets, ships, key))
  return Math.abs(largest(changes).points)
}

/** The mean change over the sets, and the set that changed most. */
function moved(sets: Sets, ships: Sets, key: Share): string {
  const { set, points } = largest(changesOf(sets, ships, key))
  const mean = signed(100 * (average(sets, key) - average(ships, key)))
  return Math.abs(points) < MOVED ? mean : `${mean} (${set} ${signed(points)})`
}

function worstFall(sets: Sets, ships: Sets): string {
  const falls = setsOf(ships, 'mean').map(set => ({ set, points: 100 * (sets[set]!.worst - ships[set]!.worst) }))
  const { set, points } = falls.reduce((most, each) => (each.points < most.points ? each : most))
  return points > -FELL ? '' : `${points.toFixed(0)} (${set})`
}

export function admissionCurves({ date, node, cores, cpu, commit, variants }: AdmissionResult): string {
  const of = (name: string): readonly Variant[] => variants.filter(each => each.name === name)
  const shipsWith = (seeds: string): Sets => of('').find(each => each.seeds === seeds)!.sets
  const ruleVariants = RULES.flatMap(({ name, what }) => of(name).map(variant => ({ what, ...variant })))
  const seeds = ruleVariants[0]?.seeds ?? of('')[0]!.seeds
  const ships = shipsWith(seeds)
  const rules = ruleVariants.map(({ what, sets, seeds }) => {
    const ships = shipsWith(seeds)
    return [
      what,
      ...(['mean', 'shed', 'late'] as const).map(key => moved(sets, ships, key)),
      worstFall(sets, ships),
      String(total(sets, 'below')),
      String(total(sets, 'falseSheds')),
    ]
  })
  const unmeasuredRules = RULES.filter(({ name }) => of(name).length === 0).map(({ what }) => what)
  const known = new Set(['', ...RULES.map(({ name }) => name), ...CONSTANTS.map(({ name }) => name)])
  const gone = new Set(variants.map(({ name }) => name).filter(name => !known.has(name)))
  const inert = ruleVariants.filter(({ sets, seeds }) => mostMoved(sets, shipsWith(seeds)) < MOVED)
  const point = (value: string, sets: Sets): string =>
    `${value}: ${percent(average(sets, 'mean'))} / ${percent(average(sets, 'late'))} / ${total(sets, 'below')} / ${total(sets, 'falseSheds')}`
  const measured = CONSTANTS.filter(({ name }) => of(name).length > 0)
  const unmeasured = CONSTANTS.filter(({ name }) => of(name).length === 0).map(({ name }) => `\`${name}\``)
  const constantSeeds = measured.length === 0 ? seeds : of(measured[0]!.name)[0]!.seeds
  const constants = measured.map(({ name, shipped, values, reason }) => [
    `\`${name}\``,
    reason,
    values
      .flatMap(value => {
        const variant = of(name).find(each => each.value === value)
        if (value === shipped) return `**${point(value, shipsWith(of(name)[0]!.seeds))}**`
        return variant === undefined ? [] : point(value, variant.sets)
      })
      .join('<br>'),
  ])
  const summary = Object.entries(ships).map(([set, figures]) => [
    set,
    figures.overloaded === 0 ? '-' : `${percent(figures.mean)} of ${figures.overloaded}`,
    figures.overloaded === 0 ? '-' : percent(figures.worst),
    String(figures.below),
    figures.ample === 0 ? '-' : `${figures.falseSheds} of ${figures.ample}`,
    figures.ample === 0 ? '-' : percent(figures.shed),
    percent(figures.late),
  ])
  return `# Admission: what each rule and constant is worth

Written by \`npm run bench:admission\` from \`bench/results/admission.json\`; not by hand. ${date}, Node ${node},
${cores} cores of ${cpu}; virtual time${commit === undefined ? '' : `, the limiter of ${commit}`}. ${seedsOf(seeds)} for the rules, ${seedsOf(constantSeeds).toLowerCase()} for the constants. The terms are explained in
[how meltproof decides](admission.md). Scenarios of up to 300 s.
${
  gone.size === 0
    ? ''
    : `
**Measured with an earlier limiter**: it had ${gone.size} rules that no longer exist, and lacked some of those listed below as not measured.
Compare within this page only.
`
}
## What was measured

Goodput is a share of the ideal where capacity is too small: the mean of the scenarios, and the worst. Where capacity
suffices no request may be shed: a scenario sheds falsely when more than 0.2 % are. All values except counts are per cent.

${markdownTable(['set', 'goodput', 'worst', 'below 75 %', 'false sheds in', 'falsely shed', 'late'], summary)}

## Without a rule

Each rule is switched off alone. Changes are in points, as the mean of the sets; in brackets the set that changes most, if it changes by
half a point. Then the largest fall of a worst scenario, and how many scenarios are below 75 % (${total(ships, 'below')} with all rules) and shed
falsely (${total(ships, 'falseSheds')}).

${markdownTable(['without', 'goodput', 'falsely shed', 'late', 'worst scenario', 'below 75 %', 'false sheds in'], rules)}

${
  inert.length === 0
    ? 'Each of them changes a set by half a point.'
    : `These change no set by half a point: ${inert.map(({ what }) => what).join('; ')}.`
}
${unmeasuredRules.length === 0 ? '' : `\nNot measured: ${unmeasuredRules.join('; ')}.\n`}
## The constants

${
  constants.length === 0
    ? ''
    : `Each value with the mean goodput and the mean share of late answers of the sets in per cent, the scenarios below 75 %, and those
that shed falsely. What ships is bold. Time in milliseconds where the name ends in \`Ms\` or \`MS\`.

${markdownTable(['constant', 'what it is', 'value: goodput / late / below 75 % / false sheds'], constants)}

`
}${unmeasured.length === 0 ? '' : `Not measured: ${unmeasured.join(', ')}.\n`}`
}

function seedsOf(seeds: string): string {
  return seeds.includes(',') ? `Seeds ${seeds.replaceAll(',', ', ')}` : `Seed ${seeds}`
}
