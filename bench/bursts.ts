/**
 * Simulates 576 bursts at a service with 5 requests a second, bare and protected, in virtual time. Handlers begin with
 * an asynchronous call, use CPU, wait, and use CPU again. Each burst arrives within 0, 100 or 1,000 ms, at a warm or a
 * cold process, or at a warm one that has half or 30 % of a core. Prints two counts: cases in which protection costs
 * more than 2 % of the requests their answer in time, and cases in which it sheds requests although the p99 of bare is
 * at most 2 s.
 *
 *   --list  also prints each of these cases
 */
import { cold, MACHINES } from '../packages/meltproof/sim/cold-starts.ts'
import { stolenSlices } from '../packages/meltproof/sim/core.ts'
import { LIMITERS } from '../packages/meltproof/sim/limiters/all.ts'
import { type SimResult, simulate } from '../packages/meltproof/sim/service.ts'
import type { Step, Workload } from '../packages/meltproof/sim/workload.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { quantile } from './lib/quantile.ts'

const SEEDS = [1, 2, 3]
const SECONDS = 12
/** A smaller share of the requests may be chance. */
const NOTICEABLE = 0.02

/** On average, other processes take the core for `forMs`, and then leave it for `everyMs`. */
const shared =
  (everyMs: number, forMs: number) =>
  (workload: Workload): Workload => ({ ...workload, core: random => stolenSlices(random, { everyMs, forMs }) })
/** What each kind of process changes in a workload. */
const PROCESSES: Readonly<Record<string, (workload: Workload) => Workload>> = {
  warm: workload => workload,
  cold: workload => cold(workload, MACHINES[0]!),
  'half of a core': shared(4, 4),
  '30 % of a core': shared(30, 70),
}

const { values } = scriptOptions(import.meta.filename, { list: { type: 'boolean', default: false } })
let cases = 0
let fewer = 0
let shed = 0

for (const clients of [40, 150, 400, 1200]) {
  for (const withinMs of [0, 100, 1000]) {
    for (const cpu of [0.2, 1, 4]) {
      for (const wait of [0, 20, 300, 2000]) {
        for (const kind of Object.keys(PROCESSES)) compare(clients, withinMs, cpu, wait, kind)
      }
    }
  }
}
console.log(
  `${cases} bursts: protection costs answers in time in ${fewer}, and sheds where bare needs at most two seconds in ${shed}`,
)

function compare(clients: number, withinMs: number, cpu: number, wait: number, kind: string): void {
  const steps = (): Step[] => ['yield', { cpu }, { wait }, { cpu: 0.1 }]
  const workload: Workload = { rate: () => 5, steps, cohorts: [{ atMs: 1000, withinMs, clients, requests: 1 }] }
  const shown = PROCESSES[kind]!(workload)
  const run = (seed: number, isGuarded: boolean): SimResult =>
    simulate(shown, { seconds: SECONDS, seed, limiter: isGuarded ? LIMITERS['meltproof'] : undefined })
  let [bareGood, ourGood, ourShed, offered, slowest] = [0, 0, 0, 0, 0]
  for (const seed of SEEDS) {
    const bare = run(seed, false)
    const ours = run(seed, true)
    bareGood += bare.good
    ourGood += ours.good
    ourShed += ours.shed
    offered += ours.offered
    slowest = Math.max(slowest, quantile([...bare.latencies], 0.99))
  }
  cases++
  const isFewer = ourGood < bareGood - NOTICEABLE * offered
  const isShed = slowest <= 2000 && ourShed > 0
  if (isFewer) fewer++
  if (isShed) shed++
  if (values.list && (isFewer || isShed)) {
    const name = `${clients} within ${withinMs} ms, ${cpu} ms of CPU, wait of ${wait} ms, ${kind}`
    console.log(
      `${name}: ${ourGood} of ${offered} in time, bare ${bareGood} (p99 ${slowest.toFixed(0)} ms), ${ourShed} shed`,
    )
  }
}
