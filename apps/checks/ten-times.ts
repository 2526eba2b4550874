/**
 * At ten times its capacity, the app keeps its goodput, and every request is answered, also by a new process.
 *
 * The kept goodput is measured in a second load, after a first one of the same length. In the first seconds, V8
 * compiles the code of the app and of meltproof on the same core: json-server keeps 60 % in second 2 and 80 % in
 * second 6, and its cost of a shed falls from 55 us to 34 us. The criterion uses the cost of a shed with compiled code.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { idealShare } from '../../packages/lab/src/scenarios/overload/ideal.ts'
import type { Load } from '../load/load-maker.ts'
import type { Check } from './check.ts'
import { failedOf, median, otherOf } from './fates.ts'

const MULTIPLE = 10
const DURATION_MS = 5000
/** Minimum of the kept goodput, as a share of the goodput that the cost of sheds allows. */
const KEPT = 0.9
/** Alternating runs per arm; their median counts. Other tenants of this host slow a run down by up to half. */
const ROUNDS = 3
/** Minimum number of users. One or two may reach the best average rate, but more leave no pause between requests. */
const FEWEST_USERS = 8

export const tenTimes: Check = async subject => {
  const { rate: capacity, users } = await subject.capacity()
  const bare = await subject.underLoad('bare', make => make.offer(capacity * MULTIPLE, DURATION_MS))
  const most = { cold: [] as number[], warm: [] as number[] }
  const loads = { cold: [] as Load[], warm: [] as Load[] }
  for (let round = 0; round < ROUNDS; round++) {
    await subject.underLoad('bare', async make => {
      const busy = (): Promise<number> => make.busy(Math.max(users, FEWEST_USERS), DURATION_MS)
      most.cold.push(await busy())
      most.warm.push(await busy())
    })
    await subject.underLoad('register', async make => {
      const offer = (): Promise<Load> => make.offer(capacity * MULTIPLE, DURATION_MS)
      loads.cold.push(await offer())
      loads.warm.push(await offer())
    })
  }
  const allowed = idealShare(MULTIPLE, shedCostUs(subject.definition.protocol), 1e6 / capacity)
  const goodput = (of: readonly Load[]): number => median(of.map(load => load.goodput))
  const kept = goodput(loads.warm) / median(most.warm)
  const keptCold = goodput(loads.cold) / median(most.cold)
  const bareKept = bare.goodput / median(most.cold)
  const all = [...loads.cold, ...loads.warm]
  const failures = [
    ...(kept < KEPT * allowed
      ? [`${percent(kept)} of its ${median(most.warm).toFixed(0)}/s kept; its shed cost allows ${percent(allowed)}`]
      : []),
    ...all.flatMap(load => [
      ...failedOf(load),
      ...otherOf(load),
      ...(load.unsent > 0 ? [`${load.unsent} requests found no connection`] : []),
    ]),
  ]
  return {
    ok: failures.length === 0,
    summary: `${percent(kept)} (bare ${percent(bareKept)})`,
    failures,
    notes: [
      ...(keptCold < KEPT * allowed
        ? [
            `In the first seconds of a process, whose code is still being compiled, ${percent(keptCold)} of what it does then.`,
          ]
        : []),
      ...new Set(all.flatMap(load => load.doubts)),
    ],
    figures: { capacity, users, allowed, kept, keptCold, bareKept, most, loads, bare },
  }
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`
}

/** CPU time of a shed on standing connections, us, from the last `npm run bench` or bench/shed-cost-grpc.ts. */
function shedCostUs(protocol: 'grpc' | undefined): number {
  if (protocol === 'grpc') return resultOf<{ costUs: { grpc: number } }>('shed-cost-grpc').costUs.grpc
  return resultOf<{ costUs: { standing: { shed: number } } }>('shed-cost').costUs.standing.shed
}

function resultOf<T>(name: string): T {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../bench/results', `${name}.json`), 'utf8')) as T
}
