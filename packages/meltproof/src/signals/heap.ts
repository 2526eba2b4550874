/** Watches the heap through Node's reports of garbage collections. Only full collections count. */
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { now } from '../clock.ts'
import { HeapRoom } from './heap-room.ts'
import { oldSpaceLimit } from './old-space.ts'

/** Called once in a process, by memory.ts. @param inService the most requests in service since its last call */
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

/** The limit excludes the young generation, which may hold garbage again by the time of Node's report. */
function oldBytes(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'))
  return old.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0)
}
