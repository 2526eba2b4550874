/**
 * Sends the same message to all viewers: it is made once and written to each. A viewer whose connection has not taken
 * the last message gets no further ones; once it has, it gets a snapshot. If this takes too long, it is disconnected.
 * So each viewer costs at most one message of memory.
 */
import type { Writable } from 'node:stream'
import type { Snapshot, Tick } from './shore.ts'

const MOST_VIEWERS = 500
/**
 * Maximum number of viewers from one address. Many phones share an address behind the router of a hotel or a carrier,
 * so this is far more than a household needs; but one address cannot take all places.
 */
const MOST_PER_CLIENT = 100
/** A viewer that has been behind for this long is disconnected, ms. */
const PATIENCE_MS = 10_000
/** A page that lost its connection reconnects after 1 to 4 s, so that not all do so at the same time. */
const RETRY_MS = [1000, 4000] as const

interface Viewer {
  readonly stream: Writable
  readonly client: string
  /** Time at which the viewer fell behind, ms; undefined while it keeps up. */
  behindSince: number | undefined
}

export class Viewers {
  readonly #snapshot: () => Snapshot
  readonly #most: number
  readonly #mostPerClient: number
  readonly #viewers = new Set<Viewer>()
  /** Number of viewers from each address. An address without viewers has no entry. */
  readonly #clients = new Map<string, number>()

  constructor(snapshot: () => Snapshot, most: number = MOST_VIEWERS, mostPerClient: number = MOST_PER_CLIENT) {
    this.#snapshot = snapshot
    this.#most = most
    this.#mostPerClient = mostPerClient
  }

  get size(): number {
    return this.#viewers.size
  }

  /** Why there is no place for another viewer from this address; undefined if there is one. */
  fullFor(client: string): 'for all' | 'for you' | undefined {
    if (this.#viewers.size >= this.#most) return 'for all'
    return (this.#clients.get(client) ?? 0) >= this.#mostPerClient ? 'for you' : undefined
  }

  /** Sends a snapshot first. Returns the function to call when the viewer has left. */
  add(stream: Writable, client: string): () => void {
    const viewer: Viewer = { stream, client, behindSince: undefined }
    this.#viewers.add(viewer)
    this.#clients.set(client, (this.#clients.get(client) ?? 0) + 1)
    const [least, most] = RETRY_MS
    stream.write(`retry: ${Math.round(least + Math.random() * (most - least))}\n\n`)
    stream.write(message('snapshot', this.#snapshot()))
    return () => this.#remove(viewer)
  }

  send(tick: Tick, now: number): void {
    if (this.#viewers.size === 0) return
    const news = message('tick', tick)
    // Made at most once a tick, and only if a viewer was behind.
    let whole: Buffer | undefined
    for (const viewer of this.#viewers) {
      const { stream, behindSince } = viewer
      if (stream.writableLength > 0) {
        viewer.behindSince ??= now
        if (now - viewer.behindSince >= PATIENCE_MS) this.#letGo(viewer)
      } else if (behindSince === undefined) {
        stream.write(news)
      } else {
        viewer.behindSince = undefined
        whole ??= message('snapshot', this.#snapshot())
        stream.write(whole)
      }
    }
  }

  close(): void {
    for (const viewer of this.#viewers) {
      this.#remove(viewer)
      viewer.stream.end()
    }
  }

  #letGo(viewer: Viewer): void {
    this.#remove(viewer)
    viewer.stream.destroy()
  }

  /** Only the first call has an effect. When we disconnect a viewer, the closing connection calls this again. */
  #remove(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return
    const others = this.#clients.get(viewer.client)! - 1
    if (others > 0) this.#clients.set(viewer.client, others)
    else this.#clients.delete(viewer.client)
  }
}

/** JSON escapes line ends, so no name can end the event. */
const message = (event: string, data: Snapshot | Tick): Buffer =>
  Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
