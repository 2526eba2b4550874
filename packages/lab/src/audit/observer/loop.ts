/** Finds what blocks the event loop: a late heartbeat shows when, and the CPU profiler shows what ran. */
import { Session } from 'node:inspector'
import type { Hold } from '../facts.ts'
import { isOwn, pathOf, textOf } from './call-site.ts'
import type { Observations } from './observations.ts'
import { heldBy, type Profile, type ProfileNode, type Stall } from './profile.ts'

/** A turn that takes this long is a stall: twenty such requests a second fill the loop. */
const HELD_MS = 50
const BEAT_MS = 10
const SAMPLE_US = 1000
/** A loop that is always blocked has about twenty stalls per second. */
const MOST_STALLS = 5000

/** `path`: the path requested when the stall ended. */
type AskedStall = Stall & { readonly path: string }

/** Watches until the returned function is called, which says what blocked the loop. */
export function watchLoop(observations: Observations): () => readonly Hold[] {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US })
  session.post('Profiler.start')
  const stalls: AskedStall[] = []
  let last = nowUs()
  const timer = setInterval(() => {
    const now = nowUs()
    const late = now - last >= (HELD_MS + BEAT_MS) * 1000
    if (late && stalls.length < MOST_STALLS) stalls.push({ from: last, to: now, path: observations.path })
    last = now
  }, BEAT_MS).unref()
  return () => {
    clearInterval(timer)
    let profile: Profile | undefined
    // The profiler answers before post() returns.
    session.post('Profiler.stop', (_error, answer) => {
      profile = answer?.profile
    })
    session.disconnect()
    return profile === undefined ? [] : holdsOf(profile, stalls)
  }
}

function holdsOf(profile: Profile, stalls: readonly AskedStall[]): Hold[] {
  const owned = ({ callFrame }: ProfileNode): boolean => isOwn({ file: pathOf(callFrame.url) })
  const byPlace = new Map<string, { where: string; calls: string; path: string; tookMs: number[] }>()
  for (const { stall, node, calls, tookMs } of heldBy(profile, stalls, owned)) {
    if (tookMs < HELD_MS) continue
    const { functionName, url, lineNumber } = node.callFrame
    const where = textOf({ name: functionName, file: pathOf(url), line: lineNumber + 1 })
    const { path } = stall
    const key = JSON.stringify([where, path])
    const hold = byPlace.get(key) ?? { where, calls: '', path, tookMs: [] }
    hold.tookMs.push(tookMs)
    if (calls !== undefined) hold.calls = calls.callFrame.functionName
    byPlace.set(key, hold)
  }
  return [...byPlace.values()]
}

/** The time on the profiler's clock: both use the system's monotonic clock. */
function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}
