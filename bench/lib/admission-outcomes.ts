/**
 * Runs every set of scenarios but the final one (measured-run.ts) with the seeds of the first argument, and prints the
 * figures of each set.
 */
import { FINAL, figuresOf, outcomeOf } from './admission-sets.ts'
import { ALL_SETS } from './measured-run.ts'

/** Longer scenarios are omitted: changes in them also show in shorter ones. Seconds. */
const LONGEST_S = 300

const seeds = (process.argv[2] ?? '1').split(',').map(Number)
const figures = Object.entries(ALL_SETS)
  .filter(([set]) => set !== FINAL)
  .map(([set, scenarios]) => {
    const chosen = scenarios.filter(({ seconds }) => seconds <= LONGEST_S)
    const { worst, ...rest } = figuresOf(chosen.map(each => outcomeOf(each, 'meltproof', seeds)))
    return [set, { ...rest, worst: worst?.good ?? 1 }]
  })
console.log(JSON.stringify(Object.fromEntries(figures), rounded))

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 10_000) / 10_000 : value
}
