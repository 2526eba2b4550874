/** Watches the memory of the container that this process runs in: reads the files of its cgroup, ever more often as they fill. */
import { openSync, readFileSync, readSync } from 'node:fs'
import { totalmem } from 'node:os'
import { now } from '../clock.ts'
import { warnOnce } from '../warnings.ts'
import { heapRoom } from './heap.ts'
import type { HeapRoom } from './heap-room.ts'
import { findMemoryGroup, type MemoryGroup, reclaimableBytes } from './memory-group.ts'
import { type InService, MemoryRoom } from './memory-room.ts'

const MB = 1024 * 1024

/** A server whose clients send bodies. */
export interface BodySource {
  /** Called while memory is full, every few milliseconds; `grows`: it was fuller than before. */
  onFull(grows: boolean): void
  onRoom(): void
}

export class Memory implements InService {
  all = 0
  bodies = 0
  readonly sources: Set<BodySource> = new Set()
  readonly #heap: HeapRoom
  #group: OpenGroup | undefined
  #room: MemoryRoom | undefined
  #nextAtMs = 0
  #told: string | undefined
  #toldAtMs = Number.NEGATIVE_INFINITY
  #fullAtBytes: number | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #warn = warnOnce()
  readonly #warnOfOthers = warnOnce()

  constructor(heap: HeapRoom, group: OpenGroup | undefined) {
    this.#heap = heap
    this.#group = group
    this.#room = group && new MemoryRoom(group.limitBytes)
  }

  entered(bringsBody: boolean): void {
    this.all++
    if (bringsBody) this.bodies++
  }

  left(broughtBody: boolean): void {
    this.all--
    if (broughtBody) this.bodies--
  }

  /** Whether a request that came now is to be shed for want of memory. */
  refuses(bringsBody: boolean, nowMs: number): boolean {
    if (this.#heap.short) return true
    if (this.#room === undefined) return false
    if (nowMs >= this.#nextAtMs) this.#sample(nowMs)
    return this.#room?.refuses(bringsBody, this, nowMs) === true
  }

  /** Whether {@link refuses} could say yes. */
  get mayRefuse(): boolean {
    return this.#heap.short || this.#room?.mayRefuse === true
  }

  /** What fills the container, for a person; undefined while it has room. As it was within the last second. */
  fullOf(nowMs: number): string | undefined {
    const room = this.#room
    if (this.#heap.short || room?.mayRefuse !== true) return undefined
    if (nowMs - this.#toldAtMs < 1000) return this.#told
    this.#toldAtMs = nowMs
    const { heapTotal, external, rss } = process.memoryUsage()
    const [used, limit, heap, buffers] = [room.usedBytes, room.limitBytes, heapTotal, external].map(mb)
    this.#told = `the container's memory was nearly full: ${used} of ${limit} (this process ${mb(rss)}, its heap ${heap}, its buffers ${buffers})`
    return this.#told
  }

  #sample(nowMs: number): void {
    const room = this.#room!
    try {
      const usedBytes = this.#group!.usedBytes()
      room.sampled({ nowMs, usedBytes, ownBytes: ownBytes() }, this)
    } catch (error) {
      this.#stop(error)
      return
    }
    this.#nextAtMs = nowMs + room.nextInMs
    if (room.isFullOfOthers) {
      this.#warnOfOthers(
        `the memory of the container of process ${process.pid} is nearly full, ${mb(room.usedBytes)} of ${mb(room.limitBytes)}, and not by ` +
          'requests of this process, so meltproof sheds none. Look for other processes of the container, or give it more memory.',
      )
    }
    this.#tellSources(room)
    if (this.all > 0) this.#timer ??= setTimeout(this.#look, room.nextInMs).unref()
  }

  readonly #look = (): void => {
    this.#timer = undefined
    this.#sample(now())
  }

  #tellSources({ isFull, usedBytes }: MemoryRoom): void {
    const before = this.#fullAtBytes
    if (isFull) {
      this.#fullAtBytes = usedBytes
      for (const source of this.sources) source.onFull(before === undefined || usedBytes > before)
    } else if (before !== undefined) {
      this.#fullAtBytes = undefined
      for (const source of this.sources) source.onRoom()
    }
  }

  #stop(error: unknown): void {
    this.#room = undefined
    this.#warn(
      `meltproof can not read the memory of the container of process ${process.pid} any more (${String(error)}); it watches the heap alone.`,
    )
    for (const source of this.sources) source.onRoom()
  }
}

const mb = (bytes: number): string => `${Math.round(bytes / MB)} MB`

const BUFFER = Buffer.alloc(8192)

/** Files that stay open: reading one costs 1 to 7 us. */
class OpenGroup {
  readonly limitBytes: number
  readonly #reclaimable: readonly string[]
  readonly #usage: number
  readonly #stat: number

  constructor({ limitBytes, usageFile, statFile, reclaimable }: MemoryGroup) {
    this.limitBytes = limitBytes
    this.#reclaimable = reclaimable
    this.#usage = openSync(usageFile, 'r')
    this.#stat = openSync(statFile, 'r')
  }

  usedBytes(): number {
    const bytes = Number.parseInt(read(this.#usage), 10)
    if (!Number.isFinite(bytes)) throw new Error('no number')
    // What can be reclaimed only makes it less.
    return bytes < this.limitBytes / 2 ? bytes : bytes - reclaimableBytes(read(this.#stat), this.#reclaimable)
  }
}

function read(fd: number): string {
  return BUFFER.toString('latin1', 0, readSync(fd, BUFFER, 0, BUFFER.length, 0))
}

function ownBytes(): number {
  return process.memoryUsage.rss()
}

let memory: Memory | undefined

/** The one of this process. */
export function processMemory(): Memory {
  memory ??= new Memory(heapRoom(), openGroup())
  return memory
}

function openGroup(): OpenGroup | undefined {
  let why: string
  try {
    const found = findMemoryGroup(path => readFileSync(path, 'latin1'), totalmem())
    if (found === undefined) return undefined
    if (!('why' in found)) return new OpenGroup(found)
    why = found.why
  } catch (error) {
    why = String(error)
  }
  warnOnce()(
    `meltproof can not read how much memory the container of process ${process.pid} has (${why}); it watches the heap alone.`,
  )
  return undefined
}
