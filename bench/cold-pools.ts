/**
 * Simulates processes whose handlers wait, in virtual time. Some wait for a connection of a pool that is offered more
 * than its capacity. The others only wait, so no request needs to be shed. A cold process keeps its loop busy at first,
 * which must not hide that requests wait for each other. Prints the goodput of the pools as a share of their capacity,
 * and what the other services lose compared with a bare process.
 *
 *   node bench/cold-pools.ts [--seeds 2] [--list]
 *
 *   --list  also prints each service
 */
import { sumOf } from '../packages/lab/src/load/added.ts'
import { mean } from '../packages/lab/src/report/number-stats.ts'
import { goodRate } from '../packages/meltproof/sim/figures.ts'
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import { type SimResult, simulate } from '../packages/meltproof/sim/service.ts'
import type { Step, Workload } from '../packages/meltproof/sim/workload.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { percent } from './lib/yardsticks.ts'

const options = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '2' },
  list: { type: 'boolean', default: false },
})
const SEEDS = Array.from({ length: options.whole('seeds') }, (_, index) => index + 1)
/** Goodput counts in these seconds. The load lasts one second longer, so that its end does not count. */
const SECONDS = 6
/** A higher rate would overload the loop as well, 1/s. */
const MOST_PER_S = 3000
/** CPU of a handler once it is warm, ms. */
const CPU_MS = 0.15
/** The first handlers take this many times as long; after this many requests, a third of the excess is left. */
const WARM_UPS = [
  { times: 1, requests: 1 },
  { times: 5, requests: 100 },
  { times: 12, requests: 200 },
]
/** What handlers do in addition to the wait: all at once, or in several turns of the loop. */
const WORK: Readonly<Record<string, (wait: Step) => Step[]>> = {
  'work, then a wait': wait => [{ cpu: CPU_MS }, wait],
  'work before and after': wait => ['yield', { cpu: CPU_MS / 2 }, wait, 'yield', { cpu: CPU_MS / 2 }],
}

for (const warmUp of WARM_UPS) {
  for (const [work, stepsWith] of Object.entries(WORK)) {
    const name = `${warmUp.times} times as long at first, ${work}`
    const kept = [4, 10, 40].flatMap(size =>
      [20, 50, 200].flatMap(holdMs =>
        [2, 10].flatMap(times => {
          const capacity = (size / holdMs) * 1000
          if (times * capacity > MOST_PER_S) return []
          const steps = (): Step[] => stepsWith({ pool: holdMs })
          const share = goodputOf({ rate: () => times * capacity, poolSize: size, steps, warmUp }) / capacity
          say(`${name}: pool of ${size}, ${holdMs} ms, ${times}x: ${percent(share)}`)
          return [share]
        }),
      ),
    )
    const losses = [20, 100, 400, 2500].flatMap(waitMs =>
      [200, 1000, 2500].map(rate => {
        const loss = lossOf({ rate: () => rate, steps: () => stepsWith({ wait: waitMs }), warmUp })
        say(`${name}: waits ${waitMs} ms, ${rate}/s: ${inWords(loss)}`)
        return loss
      }),
    )
    const total = {
      fewer: sumOf(losses, each => each.fewer),
      shed: sumOf(losses, each => each.shed),
      longerMs: mean(losses.map(each => each.longerMs))!,
    }
    console.log(`${name}: pools keep ${percent(mean(kept)!)} on average, ${percent(Math.min(...kept))} at least`)
    console.log(`${name}: other services have ${inWords(total)}`)
  }
}

interface Loss {
  readonly fewer: number
  readonly shed: number
  readonly longerMs: number
}

function run(workload: Workload, seed: number, isGuarded: boolean): SimResult {
  const limiter = isGuarded ? LIMITERS['meltproof'] : undefined
  return simulate(workload, { seconds: SECONDS + 1, seed, limiter, shedCostMs: 0.03 })
}

/** Answers in time per second, mean over the seeds. */
function goodputOf(workload: Workload): number {
  return mean(SEEDS.map(seed => goodRate(run(workload, seed, true), 0, SECONDS)))!
}

/** The loss compared with the same runs without a limiter, mean over the seeds. */
function lossOf(workload: Workload): Loss {
  const pairs = SEEDS.map(seed => [run(workload, seed, false), run(workload, seed, true)] as const)
  const latencyMs = ({ latencies }: SimResult): number => mean([...latencies]) ?? 0
  return {
    fewer: mean(pairs.map(([bare, ours]) => bare.inItsTime - ours.inItsTime))!,
    shed: mean(pairs.map(([, ours]) => ours.shed))!,
    longerMs: mean(pairs.map(([bare, ours]) => latencyMs(ours) - latencyMs(bare)))!,
  }
}

function inWords({ fewer, shed, longerMs }: Loss): string {
  return `${fewer} fewer answers in time, ${shed} sheds, and answers after ${longerMs.toFixed(1)} ms more`
}

function say(line: string): void {
  if (options.values.list) console.log(line)
}
