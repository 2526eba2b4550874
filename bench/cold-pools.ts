/**
 * Simulates cold processes whose handlers wait, in virtual time. Half of them wait for a connection of a pool to which 2
 * or 10 times its capacity is offered; the handlers of the others only wait, and no request needs to be shed. A process
 * that starts cold keeps its loop busy at first, and this must not hide that requests wait for each other. Prints the
 * goodput of the pools as a share of their capacity, and what the others lose compared with a bare process.
 *
 *   node bench/cold-pools.ts [--seeds 2] [--list]
 */
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import { type SimResult, simulate } from '../packages/meltproof/sim/service.ts'
import type { Step, Workload } from '../packages/meltproof/sim/workload.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const options = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '2' },
  list: { type: 'boolean', default: false },
})
const SEEDS = Array.from({ length: options.whole('seeds') }, (_, index) => index + 1)
const SECONDS = 6
/** CPU of a handler once it is warm, ms. */
const CPU_MS = 0.15
/** How many times longer the first handlers take, and how many requests it takes to be warm. */
const WARM_UPS = [
  { times: 1, requests: 1 },
  { times: 5, requests: 100 },
  { times: 12, requests: 200 },
]

const say = (line: string): void => {
  if (options.values.list) console.log(line)
}
const run = (workload: Workload, isGuarded: boolean): SimResult[] =>
  SEEDS.map(seed => {
    const limiter = isGuarded ? LIMITERS['meltproof'] : undefined
    return simulate(workload, { seconds: SECONDS, seed, limiter, shedCostMs: 0.03 })
  })
const total = (runs: readonly SimResult[], of: (run: SimResult) => number): number =>
  runs.reduce((sum, each) => sum + of(each), 0)

for (const warmUp of WARM_UPS) {
  const kept: number[] = []
  let [lost, shed, slower] = [0, 0, 0]
  const name = `${warmUp.times} times as long at first`
  for (const size of [4, 10, 40]) {
    for (const holdMs of [20, 50, 200]) {
      for (const times of [2, 10]) {
        const capacity = (size / holdMs) * 1000
        const steps = (): Step[] => [{ cpu: CPU_MS }, { pool: holdMs }]
        // More would overload the loop, too.
        const rate = Math.min(3000, times * capacity)
        const runs = run({ rate: () => rate, poolSize: size, steps, warmUp }, true)
        const share = total(runs, each => each.good) / (SEEDS.length * SECONDS * capacity)
        kept.push(share)
        say(`${name}: pool of ${size}, ${holdMs} ms, ${times}x: ${(100 * share).toFixed(1)} %`)
      }
    }
  }
  for (const waitMs of [20, 100, 400, 2500]) {
    for (const rate of [200, 1000, 2500]) {
      const steps = (): Step[] => [{ cpu: CPU_MS }, { wait: waitMs }]
      const workload: Workload = { rate: () => rate, steps, warmUp }
      const [bare, ours] = [run(workload, false), run(workload, true)]
      const less = Math.max(0, total(bare, each => each.inItsTime) - total(ours, each => each.inItsTime))
      const longer =
        (total(ours, each => mean(each.latencies)) - total(bare, each => mean(each.latencies))) / SEEDS.length
      lost += less
      shed += total(ours, each => each.shed)
      slower += longer / 12
      say(`${name}: waits ${waitMs} ms, ${rate}/s: ${less} fewer in time, ${longer.toFixed(1)} ms longer on average`)
    }
  }
  const mean0 = kept.reduce((sum, share) => sum + share, 0) / kept.length
  console.log(
    `${name}: pools keep ${(100 * mean0).toFixed(1)} % on average, at least ${(100 * Math.min(...kept)).toFixed(1)} %;` +
      ` others lose ${lost} answers in time, ${shed} are shed, ${slower.toFixed(1)} ms longer`,
  )
}

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}
