/**
 * SIGTERM under load: of what the app had accepted no more is lost than without meltproof, whoever shuts it down. Refused
 * connections are not lost: a balancer sends those requests elsewhere.
 */
import type { Load, LoadMaker } from '../load/load-maker.ts'
import type { Running } from '../runner/start.ts'
import type { Check } from './check.ts'
import { total } from './fates.ts'

/** Of its capacity: busy, so that requests are under way, and not overloaded. */
const SHARE = 0.7
const DURATION_MS = 5000
const AFTER_MS = 2500
/** Requests that cross the signal on the wire differ by chance: this many, or this share of those lost without us. */
const CHANCE = 5
const CHANCE_SHARE = 0.25

export const sigterm: Check = async subject => {
  const capacity = await subject.capacity()
  const once = async (make: LoadMaker, { app }: Running): Promise<Load> => {
    const signal = setTimeout(() => process.kill(app.pid, 'SIGTERM'), AFTER_MS)
    try {
      return await make.offer(capacity * SHARE, DURATION_MS)
    } finally {
      clearTimeout(signal)
    }
  }
  const bare = await subject.underLoad('bare', once)
  const load = await subject.underLoad('register', once)
  const allowed = lost(bare) + Math.max(CHANCE, CHANCE_SHARE * lost(bare))
  const failures =
    lost(load) > allowed
      ? [`${lost(load)} requests were lost (${JSON.stringify(load.failed)}), ${lost(bare)} without meltproof`]
      : []
  return {
    ok: failures.length === 0,
    summary: `${lost(load)} lost (bare ${lost(bare)})`,
    failures,
    figures: { capacity, load, bare },
  }
}

/** Sent to a server that listened, and not answered. */
function lost({ failed }: Load): number {
  return total(failed) - (failed['refused'] ?? 0)
}
