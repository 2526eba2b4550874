/**
 * Simulates 192 cold starts below the capacity, bare and protected. The handlers take 0.5 to 6 ms once they are warm.
 * At first they take 2 to 10 times as long, and become warm over 50 to 1,200 requests. Prints in how many cases there
 * are fewer answers in time with protection than without, and how many requests are shed where a bare process answers
 * all of them in time.
 *
 *   --list  also prints each case with fewer answers in time
 */
import { ConcurrencyLimiter } from '../packages/meltproof/src/admission/limiter/concurrency-limiter.ts'
import { simulate } from '../packages/meltproof/sim/service.ts'
import type { Workload } from '../packages/meltproof/sim/workload.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const SEEDS = [1, 2]
const SECONDS = 10
/** CPU that the simulator adds to each request, ms. */
const HANDLING_MS = 0.036
/** A loss of a smaller share of the requests may be chance. */
const NOTICEABLE = 0.002

const { values } = scriptOptions(import.meta.filename, { list: { type: 'boolean', default: false } })
let cases = 0
let worse = 0
let shed = 0
for (const times of [2, 3, 6, 10]) {
  for (const requests of [50, 150, 400, 1200]) {
    for (const cpuMs of [0.5, 1, 2.5, 6]) {
      for (const load of [0.5, 0.7, 0.85]) {
        const workload: Workload = {
          rate: () => (load * 1000) / (cpuMs + HANDLING_MS),
          steps: () => [{ cpu: cpuMs }],
          warmUp: { times, requests },
          gc: { everyRequests: 200, pauseMs: 4 },
        }
        compare(workload, `${cpuMs} ms at ${load}x, ${times} times as long at first, ${requests} requests`)
      }
    }
  }
}
console.log(`${cases} cold starts: protection costs answers in time in ${worse}`)
console.log(`${shed} requests are shed where a bare process answers all of them in time`)

function compare(workload: Workload, name: string): void {
  let [bareGood, ourGood, ourShed, offered] = [0, 0, 0, 0]
  for (const seed of SEEDS) {
    const bare = simulate(workload, { seconds: SECONDS, seed, limiter: undefined })
    const ours = simulate(workload, { seconds: SECONDS, seed, limiter: busyMs => new ConcurrencyLimiter(busyMs) })
    bareGood += bare.good
    ourGood += ours.good
    ourShed += ours.shed
    offered += ours.offered
  }
  cases++
  if (bareGood === offered) shed += ourShed
  if (ourGood >= bareGood - NOTICEABLE * offered) return
  worse++
  if (values.list) console.log(`${name}: ${ourGood} of ${offered} in time, bare ${bareGood}, ${ourShed} shed`)
}
