/** Watches the heap through Node's reports of garbage collections. Only full collections count. */
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { now } from '../clock.ts'
import { HeapRoom } from './heap-room.ts'

const MB = 1024 * 1024

/** Share of the young generation that V8 reserves if the old one exceeds `aboveMb`, measured in containers. */
const YOUNG_SHARES = [
  { share: 1, aboveMb: 1024 },
  { share: 1 / 2, aboveMb: 512 },
  { share: 1 / 4, aboveMb: 256 },
]

/** Called once per process, by memory.ts. @param inService returns the most requests in service since its last call */
export function heapRoom(inService: () => number): HeapRoom {
  const watched = new HeapRoom()
  const flags = [...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/), ...process.execArgv]
  const limit = oldSpaceLimit(flags, getHeapStatistics().heap_size_limit, Number.parseInt(process.versions.node, 10))
  new PerformanceObserver(list => {
    const entries = list.getEntries() as { readonly detail?: { readonly kind?: number } }[]
    // Young collections are frequent, and do not show how much memory is live.
    if (!entries.some(({ detail }) => detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) return
    watched.collected({ nowMs: now(), usedBytes: oldBytes(), limitBytes: limit, inService: inService() })
  }).observe({ entryTypes: ['gc'] })
  return watched
}

/** Bytes in the old generation, to which V8's limit applies. The young one may hold garbage again when Node reports. */
function oldBytes(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'))
  return old.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0)
}

/**
 * The capacity of the old generation, at which V8 aborts. Node reports only its sum with the young one. A flag counts
 * only if the rest of the sum can be the young one: PM2 or dotenv may set NODE_OPTIONS after V8 has read it.
 */
export function oldSpaceLimit(flags: readonly string[], heapLimitBytes: number, nodeMajor: number): number {
  // Three semi-spaces of the maximum size, MB, for an old generation above 1 GB on 64-bit Linux.
  const mostYoungMb = nodeMajor < 24 ? 48 : nodeMajor < 26 ? 192 : 96
  const given = (name: string): number =>
    Number(flags.findLast(flag => flag.replaceAll('_', '-').startsWith(`${name}=`))?.split('=')[1]) || 0
  const flagMb = given('--max-old-space-size')
  const youngMb = Math.max(mostYoungMb, 3 * given('--max-semi-space-size'))
  const restBytes = heapLimitBytes - flagMb * MB
  if (flagMb > 0 && restBytes >= 0 && restBytes <= youngMb * MB) return flagMb * MB
  for (const { share, aboveMb } of YOUNG_SHARES) {
    const rest = heapLimitBytes - mostYoungMb * share * MB
    if (rest > aboveMb * MB) return rest
  }
  // This is the smallest heap that Node chooses itself: 256 MB plus a few MB for the young generation.
  return heapLimitBytes
}
