/** Watches this process's heap: told of full collections by Node, no timer, nothing to do between them. */
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { HeapRoom } from './heap-room.ts'

interface CollectionEntry {
  readonly detail?: { readonly kind?: number }
}

let room: HeapRoom | undefined

/** The process has one heap, so all guards share one observer. It keeps nothing alive. */
export function heapRoom(): HeapRoom {
  room ??= observeHeap()
  return room
}

function observeHeap(): HeapRoom {
  const watched = new HeapRoom()
  new PerformanceObserver(list => {
    const full = list
      .getEntries()
      .some(entry => (entry as CollectionEntry).detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR)
    // Young collections do not tell what is live, and there are many.
    if (!full) return
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    watched.collected(used_heap_size, heap_size_limit)
  }).observe({ entryTypes: ['gc'] })
  return watched
}
