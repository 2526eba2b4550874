/** Finds in a CPU profile what ran while the event loop was blocked. Pure. */

export interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[] | undefined
}

/** The inspector's format. Times are microseconds. */
export interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly startTime: number
  readonly samples?: readonly number[] | undefined
  readonly timeDeltas?: readonly number[] | undefined
}

/** Times on the profile's clock, microseconds. */
export interface Stall {
  readonly from: number
  readonly to: number
}

export interface Held<S extends Stall> {
  readonly stall: S
  /** The innermost frame for which `isOwn` is true and that ran for most of the stall. */
  readonly node: ProfileNode
  /** The function it called that also ran for most of the stall, if any. */
  readonly calls: ProfileNode | undefined
  readonly tookMs: number
}

/** A function that ran for a smaller share does not explain the stall. */
const MOST_OF_IT = 0.6

/** Omits stalls that no function of the app explains, such as those by garbage collection or other processes. */
export function heldBy<S extends Stall>(
  profile: Profile,
  stalls: readonly S[],
  isOwn: (node: ProfileNode) => boolean,
): Held<S>[] {
  const byId = new Map(profile.nodes.map(node => [node.id, node]))
  const parents = new Map(profile.nodes.flatMap(node => (node.children ?? []).map(child => [child, node.id] as const)))
  const stacks = new Map<number, readonly ProfileNode[]>()
  const stackOf = (id: number): readonly ProfileNode[] => {
    const before = stacks.get(id)
    if (before !== undefined) return before
    const parent = parents.get(id)
    const stack = [...(parent === undefined ? [] : stackOf(parent)), byId.get(id)!]
    stacks.set(id, stack)
    return stack
  }
  const times = timesOf(profile)
  return stalls.flatMap(stall => {
    const { from, to } = stall
    const spent = new Map<string, { node: ProfileNode; us: number; depth: number }>()
    let total = 0
    const before = times.findLastIndex(time => time <= from)
    for (let i = Math.max(0, before); i < times.length && times[i]! < to; i++) {
      const us = Math.min(times[i + 1] ?? to, to) - Math.max(times[i]!, from)
      const stack = stackOf(profile.samples![i]!)
      if (us <= 0 || stack.at(-1)!.callFrame.functionName === '(idle)') continue
      total += us
      const counted = new Set<string>()
      for (const [depth, node] of stack.entries()) {
        const key = keyOf(node)
        if (counted.has(key)) continue // A recursive function counts once.
        counted.add(key)
        const seen = spent.get(key) ?? { node, us: 0, depth }
        spent.set(key, { node, us: seen.us + us, depth: Math.max(depth, seen.depth) })
      }
    }
    const most = [...spent.values()].filter(({ us }) => us >= total * MOST_OF_IT).sort((a, b) => b.depth - a.depth)
    const at = most.findIndex(({ node }) => isOwn(node))
    const own = most[at]
    return own === undefined ? [] : [{ stall, node: own.node, calls: most[at - 1]?.node, tookMs: own.us / 1000 }]
  })
}

function timesOf({ startTime, timeDeltas = [] }: Profile): readonly number[] {
  let at = startTime
  return timeDeltas.map(delta => (at += delta))
}

function keyOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  return `${functionName} ${url}:${lineNumber}`
}
