/** Finds what blocks the event loop: a late heartbeat shows when, and the CPU profiler shows what ran. */
import { type Profiler, Session } from 'node:inspector'
import type { Hold } from '../facts.ts'
import { isOwn, pathOf, textOf } from './call-site.ts'
import type { Observations } from './observations.ts'

/** A turn of the loop that takes this long is a stall: twenty such requests per second fill the loop. */
const HELD_MS = 50
const BEAT_MS = 10
const SAMPLE_US = 1000
/** A loop that is always blocked has about twenty stalls per second. */
const MOST_STALLS = 5000

/** Times on the profile's clock, microseconds. `path`: the path requested when the stall ended. */
interface Stall {
  readonly from: number
  readonly to: number
  readonly path: string
}

/** Watches until the returned function is called. That function returns what blocked the loop. */
export function watchLoop(observations: Observations): () => readonly Hold[] {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US })
  session.post('Profiler.start')
  const stalls: Stall[] = []
  let last = nowUs()
  const timer = setInterval(() => {
    const now = nowUs()
    const late = now - last >= (HELD_MS + BEAT_MS) * 1000
    if (late && stalls.length < MOST_STALLS) stalls.push({ from: last, to: now, path: observations.path })
    last = now
  }, BEAT_MS).unref()
  return () => {
    clearInterval(timer)
    let profile: Profiler.Profile | undefined
    // The profiler answers before post() returns.
    session.post('Profiler.stop', (_error, answer) => {
      profile = answer?.profile
    })
    session.disconnect()
    return profile === undefined ? [] : holdsOf(profile, stalls)
  }
}

function holdsOf(profile: Profiler.Profile, stalls: readonly Stall[]): Hold[] {
  const owned = ({ callFrame }: Profiler.ProfileNode): boolean => isOwn({ file: pathOf(callFrame.url) })
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

interface Held {
  readonly stall: Stall
  /** The innermost frame for which `owned` is true and that ran for most of the stall. */
  readonly node: Profiler.ProfileNode
  /** The function it called that also ran for most of the stall, if any. */
  readonly calls: Profiler.ProfileNode | undefined
  readonly tookMs: number
}

/** A function that ran for a smaller share does not explain the stall. */
const MOST_OF_IT = 0.6

/** Omits stalls that no function of the app explains, such as those caused by garbage collection or other processes. */
export function heldBy(
  profile: Profiler.Profile,
  stalls: readonly Stall[],
  owned: (node: Profiler.ProfileNode) => boolean,
): Held[] {
  const byId = new Map(profile.nodes.map(node => [node.id, node]))
  const parents = new Map(profile.nodes.flatMap(node => (node.children ?? []).map(child => [child, node.id] as const)))
  const stacks = new Map<number, readonly Profiler.ProfileNode[]>()
  const stackOf = (id: number): readonly Profiler.ProfileNode[] => {
    const before = stacks.get(id)
    if (before !== undefined) return before
    const parent = parents.get(id)
    const stack = [...(parent === undefined ? [] : stackOf(parent)), byId.get(id)!]
    stacks.set(id, stack)
    return stack
  }
  let sampledAt = profile.startTime
  const times = (profile.timeDeltas ?? []).map(delta => (sampledAt += delta))
  return stalls.flatMap(stall => {
    const { from, to } = stall
    const spent = new Map<string, { node: Profiler.ProfileNode; us: number; depth: number }>()
    let total = 0
    const before = times.findLastIndex(time => time <= from)
    for (let i = Math.max(0, before); i < times.length && times[i]! < to; i++) {
      const us = Math.min(times[i + 1] ?? to, to) - Math.max(times[i]!, from)
      const stack = stackOf(profile.samples![i]!)
      if (us <= 0 || stack.at(-1)!.callFrame.functionName === '(idle)') continue
      total += us
      const counted = new Set<string>()
      for (const [depth, node] of stack.entries()) {
        const { functionName, url, lineNumber } = node.callFrame
        const key = `${functionName} ${url}:${lineNumber}`
        if (counted.has(key)) continue // A recursive function counts once.
        counted.add(key)
        const seen = spent.get(key) ?? { node, us: 0, depth }
        spent.set(key, { node, us: seen.us + us, depth: Math.max(depth, seen.depth) })
      }
    }
    const most = [...spent.values()].filter(({ us }) => us >= total * MOST_OF_IT).sort((a, b) => b.depth - a.depth)
    const at = most.findIndex(({ node }) => owned(node))
    const own = most[at]
    return own === undefined ? [] : [{ stall, node: own.node, calls: most[at - 1]?.node, tookMs: own.us / 1000 }]
  })
}
