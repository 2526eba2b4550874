/**
 * How the limiter that ships does on each set of simulated scenarios: those it was developed on, and those that nobody
 * tuned on. Virtual time; under a minute.
 *
 *   node bench/admission-held-out.ts [--seeds 1,2,3] [--set tuned,cold,development,held-out,unseen,fresh,thirty,uneven,uneven-held-out]
 *                                    [--each] [--limiter Vegas,Gradient2]
 *
 * - tuned: sim/scenarios.ts. - cold: sim/cold-starts.ts. - development: sim/development.ts.
 * - held-out: sim/held-out.ts, written before any result was seen. Three changes were made after a look at its results.
 * - unseen: sim/unseen.ts, written by somebody who had not read the limiter, before it ran on them. One change (what a halt
 *   does) was made after the first look at its results.
 * - fresh: sim/fresh.ts, written by somebody else who had not read the limiter either, and committed before it ran on them.
 * - thirty: sim/thirty.ts, written like fresh by yet another author, and committed before the limiter ran on them.
 * - uneven, uneven-held-out: sim/uneven.ts, dependencies of uneven pace; the second was committed before the limiter ran on it.
 *
 * Goodput is the share of what perfect admission would answer within a second, mean of the seeds, 100 % at the most. Where
 * capacity suffices the worst seed counts, and a scenario sheds falsely above 0.2 %. `--each` names every scenario; `--limiter` runs
 * rivals (sim/limiters) behind the same gate and queue.
 */
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import { THIRTY } from '../packages/meltproof/sim/thirty.ts'
import { UNEVEN, UNEVEN_HELD_OUT } from '../packages/meltproof/sim/uneven.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { figuresOf, outcomeOf, SETS } from './lib/admission-sets.ts'

const ALL_SETS = { ...SETS, thirty: THIRTY, uneven: UNEVEN, 'uneven-held-out': UNEVEN_HELD_OUT }

const options = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '1,2,3' },
  set: { type: 'string' },
  each: { type: 'boolean', default: false },
  limiter: { type: 'string', default: 'meltproof' },
})
const seeds = options.values.seeds.split(',').map(Number)
if (seeds.some(seed => !Number.isSafeInteger(seed)))
  options.refuse(`--seeds takes whole numbers; got '${options.values.seeds}'`)

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
const sets = options.chosen('set', Object.keys(ALL_SETS) as (keyof typeof ALL_SETS)[])
const limiters = options.chosen('limiter', Object.keys(LIMITERS))
const rowOf = (limiter: string, set: keyof typeof ALL_SETS): string[] => {
  const outcomes = ALL_SETS[set].map(scenario => outcomeOf(scenario, limiter, seeds))
  if (options.values.each) {
    for (const { name, noShed, good, shed } of outcomes) {
      console.log(
        `${limiter}, ${set}: ${name}: ${noShed ? `${percent(shed)} shed, nobody must be` : `${percent(good)} of the ideal`}`,
      )
    }
  }
  const { overloaded, ample, mean, worst, below, falseSheds } = figuresOf(outcomes)
  return [
    limiter,
    set,
    worst === undefined ? '-' : `${percent(mean)} of ${overloaded}`,
    worst === undefined ? '-' : `${percent(worst.good)} (${worst.name})`,
    String(below),
    `${falseSheds} of ${ample}`,
  ]
}
const rows = limiters.flatMap(limiter => sets.map(set => rowOf(limiter, set)))
console.log(
  markdownTable(['limiter', 'scenarios', 'goodput, mean of the ideal', 'worst', 'below 75 %', 'false sheds in'], rows),
)
