/** Watches the memory of this process's container: reads its cgroup files, more often when memory is fuller. */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { clearTimeout, setTimeout } from 'node:timers'
import { getHeapStatistics } from 'node:v8'
import { now } from '../clock.ts'
import { quietly, warnOnce } from '../warnings.ts'
import { heapRoom } from './heap.ts'
import type { HeapRoom } from './heap-room.ts'
import { findMemoryGroup, type MemoryGroup, reclaimableBytes } from './memory-group.ts'
import { type InService, MemoryRoom } from './memory-room.ts'

const MB = 1024 * 1024
/** Maximum and best share of the container for the heap; the rest is for Node itself, buffers and sockets. */
const LARGEST_HEAP_SHARE = 0.75
const BEST_HEAP_SHARE = 0.6
/** V8 begins a collection when buffers have grown by 64 MB. */
const COLLECTION_BYTES = 64 * MB
/** The limit is read again after this time, ms: `docker update` or a resize of Kubernetes may change it. */
const LIMIT_EVERY_MS = 5000
/** Minimum interval of checks without request bodies, ms: arriving requests trigger more, and only bodies are paced. */
const WITHOUT_BODIES_MS = 50

/** A server whose clients send bodies. */
export interface BodySource {
  /** Called every few milliseconds while memory is full; `grows`: usage has increased. */
  onFull(grows: boolean): void
  onRoom(): void
}

export class Memory implements InService {
  all = 0
  bodies = 0
  #peak = 0
  /** The sources of request bodies, which are read more slowly while memory is full. */
  readonly sources: Set<BodySource> = new Set()
  readonly #heap: HeapRoom = heapRoom(() => {
    const peak = this.#peak
    this.#peak = this.all
    return peak
  })
  #group: MemoryGroup | undefined
  #room: MemoryRoom | undefined
  #limitAtMs = 0
  #nextAtMs = 0
  #told: string | undefined
  #toldAtMs = Number.NEGATIVE_INFINITY
  #fullAtBytes: number | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #warnOfOthers = warnOnce()
  readonly #heapBytes = getHeapStatistics().heap_size_limit
  readonly #warnOnceOfHeap = warnOnce()
  readonly #warnOfFiles = warnOnce()

  constructor() {
    this.#readLimit(now())
  }

  /** Called when a handler starts. */
  entered(bringsBody: boolean): void {
    if (++this.all > this.#peak) this.#peak = this.all
    if (!bringsBody) return
    // The pending check of a process without bodies may come too late for them.
    if (++this.bodies === 1 && this.#room !== undefined && this.#room.nextInMs < WITHOUT_BODIES_MS) {
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
    this.#lookSoon()
  }

  /** Called when the response of a request has closed. */
  left(broughtBody: boolean): void {
    this.all--
    if (broughtBody) this.bodies--
  }

  /** True if a request that arrives now must be shed to save memory. */
  refuses(bringsBody: boolean, nowMs: number): boolean {
    if (this.all >= this.#heap.most && this.#heap.refuses(this.all, nowMs)) return true
    if (nowMs >= this.#nextAtMs) this.#look(nowMs)
    return this.#room?.refuses(bringsBody, this, nowMs) === true
  }

  /** True if {@link refuses} could return true. */
  get mayRefuse(): boolean {
    return this.#heap.most !== Number.POSITIVE_INFINITY || this.#room?.mayRefuse === true
  }

  /** Describes for a person what fills the container; undefined when it is not full. Up to one second old. */
  fullOf(nowMs: number): string | undefined {
    const room = this.#room
    if (this.#heap.isShort || room?.mayRefuse !== true) return undefined
    if (nowMs - this.#toldAtMs < 1000) return this.#told
    this.#toldAtMs = nowMs
    const { heapTotal, external, rss } = process.memoryUsage()
    const [used, limit, heap, buffers] = [room.usedBytes, room.limitBytes, heapTotal, external].map(mb)
    this.#told = `the container's memory was nearly full: ${used} of ${limit} (this process ${mb(rss)}, its heap ${heap}, its buffers ${buffers})`
    return this.#told
  }

  #look(nowMs: number): void {
    try {
      if (nowMs >= this.#limitAtMs) this.#readLimit(nowMs)
      const room = this.#room
      if (room === undefined) return
      room.sampled({ nowMs, usedBytes: usedBytes(this.#group!), ownBytes: process.memoryUsage.rss() }, this)
      this.#nextAtMs = nowMs + room.nextInMs
      if (room.isFullOfOthers) {
        this.#warnOfOthers(
          `the memory of the container of process ${process.pid} is nearly full (${mb(room.usedBytes)} of ${mb(room.limitBytes)}), but not because of ` +
            'requests in service, so meltproof does not shed for it. Check the other processes of the container and the caches of this one, or give it more memory.',
        )
      }
      this.#tellSources(room)
      // A buffer that is never written to uses only address space, but V8 counts it towards the next collection.
      if (room.wantsCollection(nowMs)) new ArrayBuffer(COLLECTION_BYTES)
      if (room.mayRefuse && this.#heapBytes > room.limitBytes * LARGEST_HEAP_SHARE) this.#warnOfHeap(room.limitBytes)
      if (this.bodies > 0 || (this.all > 0 && room.usedBytes > room.limitBytes / 2)) this.#lookSoon()
    } catch (error) {
      this.#warnOfFiles(
        `meltproof can no longer read the memory use of the container of process ${process.pid} (${String(error)}); it watches only the heap.`,
      )
      this.#stop()
    }
  }

  /** New requests trigger checks too; this timer is for requests in service that allocate while none arrive. */
  #lookSoon(): void {
    if (this.#room === undefined) return
    const leastMs = this.bodies > 0 ? 0 : WITHOUT_BODIES_MS
    this.#timer ??= setTimeout(this.#lookAgain, Math.max(leastMs, this.#room.nextInMs)).unref()
  }

  readonly #lookAgain = (): void => {
    this.#timer = undefined
    this.#look(now())
  }

  /** Called also while there is no limit, because one may be set later. */
  #readLimit(nowMs: number): void {
    this.#limitAtMs = nowMs + LIMIT_EVERY_MS
    try {
      this.#group = findMemoryGroup(readText, totalmem())
    } catch (error) {
      this.#group = undefined
      this.#warnOfFiles(
        `meltproof cannot read the memory limit of the container of process ${process.pid} (${(error as Error).message}); it watches only the heap.`,
      )
    }
    if (this.#group === undefined) this.#stop()
    else if (this.#group.limitBytes !== this.#room?.limitBytes) {
      this.#room = new MemoryRoom(this.#group.limitBytes, this.#room)
    }
  }

  #tellSources({ pacesBodies, usedBytes }: MemoryRoom): void {
    const before = this.#fullAtBytes
    if (pacesBodies) {
      this.#fullAtBytes = usedBytes
      for (const source of this.sources) source.onFull(before === undefined || usedBytes > before)
    } else if (before !== undefined) {
      this.#fullAtBytes = undefined
      for (const source of this.sources) source.onRoom()
    }
  }

  /** V8 collects garbage before its heap is full, which is too late if the container is smaller than the heap limit. */
  #warnOfHeap(containerBytes: number): void {
    this.#warnOnceOfHeap(
      `the container of process ${process.pid} has ${mb(containerBytes)} of memory, but V8's heap may grow to ${mb(this.#heapBytes)}, so V8 collects ` +
        `garbage too late. Start Node with --max-old-space-size=${Math.round((containerBytes * BEST_HEAP_SHARE) / MB)}. Until then meltproof sheds requests.`,
    )
  }

  #stop(): void {
    this.#room = undefined
    this.#nextAtMs = this.#limitAtMs
    this.#fullAtBytes = undefined
    // A socket that cannot be resumed has closed.
    quietly(() => {
      for (const source of this.sources) source.onRoom()
    })
  }
}

const mb = (bytes: number): string => `${Math.round(bytes / MB)} MB`

const readText = (path: string): string => readFileSync(path, 'latin1')

function usedBytes({ limitBytes, usageFile, statFile, reclaimable }: MemoryGroup): number {
  const bytes = Number.parseInt(readText(usageFile), 10)
  if (!Number.isFinite(bytes)) throw new Error('the file with its use contains no number')
  // Below half of the limit, subtracting reclaimable memory would not change the decision.
  return bytes < limitBytes / 2 ? bytes : bytes - reclaimableBytes(readText(statFile), reclaimable)
}

let memory: Memory | undefined

export function processMemory(): Memory {
  memory ??= new Memory()
  return memory
}
