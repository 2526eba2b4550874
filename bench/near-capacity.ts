/**
 * Simulates services near their capacity, bare and protected, in virtual time: warm ones and cold ones, at 0.9 to 1.5
 * times the capacity of a warm one. Prints the answers in time as a share of the requests, of which each second counts
 * at most the warm capacity; the share that is shed; and the p99 of the answers.
 *
 *   node bench/near-capacity.ts [--seeds 3] [--seconds 30]
 */
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { cold, MACHINES } from '../packages/meltproof/sim/cold-starts.ts'
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import { PARSE } from '../packages/meltproof/sim/scenario-parts.ts'
import { type SimResult, simulate } from '../packages/meltproof/sim/service.ts'
import type { Step, Workload } from '../packages/meltproof/sim/workload.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { quantile } from './lib/quantile.ts'
import { percent } from './lib/yardsticks.ts'

const options = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '30' },
})
const SEEDS = Array.from({ length: options.whole('seeds') }, (_, index) => index + 1)
const SECONDS = options.whole('seconds')
const POOL = { size: 10, holdMs: 50 }

interface Kind {
  /** Requests per second. */
  readonly capacity: number
  readonly of: (rate: number) => Workload
}

const cpu = (ms: number): Kind => ({
  capacity: 1000 / (ms + PARSE),
  of: rate => ({ rate: () => rate, steps: (): Step[] => [{ cpu: ms }] }),
})
const KINDS: Readonly<Record<string, Kind>> = {
  '0.25 ms of CPU': cpu(0.25),
  '1 ms of CPU': cpu(1),
  '5 ms of CPU': cpu(5),
  '20 ms of CPU': cpu(20),
  'a pool of 10, 50 ms each': {
    capacity: (POOL.size / POOL.holdMs) * 1000,
    of: rate => ({ rate: () => rate, poolSize: POOL.size, steps: (): Step[] => [{ pool: POOL.holdMs }] }),
  },
}
const TIMES = [0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.5]

const rows: string[][] = []
for (const [name, { capacity, of }] of Object.entries(KINDS)) {
  for (const state of ['warm', 'cold']) {
    for (const times of TIMES) {
      const workload = state === 'warm' ? of(times * capacity) : cold(of(times * capacity), MACHINES[0]!)
      const bare = figuresOf(workload, capacity, false)
      const ours = figuresOf(workload, capacity, true)
      rows.push([
        `${name}, ${state}`,
        `${times}x`,
        percent(bare.good),
        bare.p99.toFixed(0),
        percent(ours.good),
        percent(ours.shed),
        ours.p99.toFixed(0),
      ])
    }
  }
}
console.log(markdownTable(['service', 'load', 'bare: in time', 'p99 ms', 'protected: in time', 'shed', 'p99 ms'], rows))

function figuresOf(workload: Workload, capacity: number, isGuarded: boolean) {
  const runs = SEEDS.map((seed): SimResult => {
    const limiter = isGuarded ? LIMITERS['meltproof'] : undefined
    return simulate(workload, { seconds: SECONDS, seed, limiter, shedCostMs: 0.02 })
  })
  const total = (of: (run: SimResult) => number): number => runs.reduce((sum, run) => sum + of(run), 0)
  const ideal = total(run => run.seconds.reduce((sum, { offered }) => sum + Math.min(offered, capacity), 0))
  return {
    good: total(run => run.good) / ideal,
    shed: total(run => run.shed) / total(run => run.offered),
    p99: quantile(
      runs.flatMap(run => [...run.latencies]),
      0.99,
    ),
  }
}
