/** At ten times what the app can do it keeps its goodput, and every request is answered. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { idealShare } from '../../packages/lab/src/scenarios/overload/ideal.ts'
import type { Check } from './check.ts'
import { failedOf, otherOf } from './fates.ts'

const MULTIPLE = 10
const DURATION_MS = 5000
/** Of what the cost of a shed leaves at best, this much must be kept. */
const KEPT = 0.9

export const tenTimes: Check = async subject => {
  const capacity = await subject.capacity()
  const bare = await subject.underLoad('bare', make => make.offer(capacity * MULTIPLE, DURATION_MS))
  const load = await subject.underLoad('register', make => make.offer(capacity * MULTIPLE, DURATION_MS))
  const allowed = idealShare(MULTIPLE, shedCostUs(subject.definition.protocol), 1e6 / capacity)
  const kept = load.goodput / capacity
  const failures = [
    ...(kept < KEPT * allowed
      ? [`${percent(kept)} of its capacity of ${capacity.toFixed(0)}/s kept; its shed cost allows ${percent(allowed)}`]
      : []),
    ...failedOf(load),
    ...otherOf(load),
    ...(load.unsent > 0 ? [`${load.unsent} requests found no connection`] : []),
  ]
  return {
    ok: failures.length === 0,
    summary: `${percent(kept)} (bare ${percent(bare.goodput / capacity)})`,
    failures,
    notes: load.doubts,
    figures: { capacity, allowed, kept, bareKept: bare.goodput / capacity, load, bare },
  }
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`
}

/** r, with standing connections, as it was measured last: by `npm run bench`, or by bench/shed-cost-grpc.ts. */
function shedCostUs(protocol: 'grpc' | undefined): number {
  if (protocol === 'grpc') return resultOf<{ costUs: { grpc: number } }>('shed-cost-grpc').costUs.grpc
  return resultOf<{ costUs: { standing: { shed: number } } }>('shed-cost').costUs.standing.shed
}

function resultOf<T>(name: string): T {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../bench/results', `${name}.json`), 'utf8')) as T
}
