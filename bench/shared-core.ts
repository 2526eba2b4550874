/**
 * Simulates a server that starts cold on a core that other processes use too, in virtual time:
 *
 * - overload: 5 ms of CPU in five asynchronous calls at 2, 5 and 10 times what is left of the core. Shown: the answers
 *   in time as a share of that capacity (minimum and median of the seeds), and the maximum share of late answers.
 * - waits: requests that mostly wait, at 0.6 of what is left of the core once V8 has compiled. Shown: runs in which
 *   protection costs more than 2 % of the requests their answer in time.
 *
 *   node bench/shared-core.ts [--seeds 12]
 */
import { type Core, stolenSlices } from '../packages/meltproof/sim/core.ts'
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import type { Random } from '../packages/meltproof/sim/random.ts'
import { CPU5, cpu5 } from '../packages/meltproof/sim/scenarios.ts'
import { type SimResult, simulate } from '../packages/meltproof/sim/service.ts'
import type { Step, Workload } from '../packages/meltproof/sim/workload.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { quantile } from './lib/quantile.ts'

/** Mean time between two slices in which other processes have the core, and mean length of such a slice, ms. */
const SLICES = [
  [4, 4],
  [4, 8],
  [4, 12],
  [10, 30],
] as const

const options = scriptOptions(import.meta.filename, { seeds: { type: 'string', default: '12' } })
const seeds = Array.from({ length: options.whole('seeds') }, (_, index) => index + 1)

const run = (workload: Workload, seconds: number, seed: number, isGuarded: boolean): SimResult =>
  simulate(workload, { seconds, seed, limiter: isGuarded ? LIMITERS['meltproof'] : undefined })

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`

for (const [everyMs, forMs] of SLICES) {
  const share = everyMs / (everyMs + forMs)
  const core = (random: Random): Core => stolenSlices(random, { everyMs, forMs })
  const name = `${percent(share)} of the core in slices of ${everyMs} ms`
  for (const times of [2, 5, 10]) {
    const steps = (): Step[] => ['yield', ...cpu5()]
    const results = seeds.map(seed => run({ rate: () => times * CPU5 * share, steps, core }, 6, seed, true))
    const kept = results.map(({ good }) => good / (6 * CPU5 * share)).sort((a, b) => a - b)
    const late = results.map(({ seconds, offered }) => seconds.reduce((sum, each) => sum + each.late, 0) / offered)
    console.log(
      `${name}, ${times}x: kept ${percent(kept[0]!)} at least, ${percent(quantile(kept, 0.5))} in the median; ` +
        `${percent(Math.max(...late))} late at most`,
    )
  }
  let worse = 0
  let runs = 0
  for (const wait of [100, 500, 1000, 3000]) {
    for (const [cpu, times] of [
      [0.1, 10],
      [0.25, 4],
      [0.6, 4],
      [1.5, 2],
    ] as const) {
      const rate = Math.min(400, (0.6 * share * 1000) / (cpu * 1.2))
      const steps = (): Step[] => [{ cpu }, { wait }, { cpu: 0.05 }]
      const workload: Workload = { rate: () => rate, steps, core, warmUp: { times, requests: 400 } }
      for (const seed of seeds) {
        const [bare, ours] = [run(workload, 8, seed, false), run(workload, 8, seed, true)]
        runs++
        if (bare.good - ours.good > 0.02 * ours.offered) worse++
      }
    }
  }
  console.log(`${name}, waits: protection costs answers in time in ${worse} of ${runs} runs`)
}
