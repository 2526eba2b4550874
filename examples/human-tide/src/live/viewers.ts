/**
 * Sends the same message to everyone who watches: made once, written to each. A viewer whose connection has not taken
 * the last message is left out, gets the whole picture once it has, and is let go when that takes too long; so each
 * costs at most one message of memory.
 */
import type { Writable } from 'node:stream'
import type { Snapshot, Tick } from './shore.ts'

const MOST_VIEWERS = 500
/**
 * From one address. Many phones share one, behind a hotel's router or a carrier's, so this is far more than a household;
 * but nobody takes all places alone.
 */
const MOST_PER_CLIENT = 100
/** A viewer that takes nothing for this long is gone, or as good as, ms. */
const PATIENCE_MS = 10_000
/** A page that lost us comes back after 1 to 4 s: not all of them at once. */
const RETRY_MS = [1000, 4000] as const

interface Viewer {
  readonly stream: Writable
  readonly client: string
  /** When it was first left out; undefined while it keeps up. */
  behindSince: number | undefined
}

export class Viewers {
  readonly #snapshot: () => Snapshot
  readonly #most: number
  readonly #mostPerClient: number
  readonly #viewers = new Set<Viewer>()
  /** How many watch from each address; those from which nobody does are not in it. */
  readonly #clients = new Map<string, number>()

  constructor(snapshot: () => Snapshot, most: number = MOST_VIEWERS, mostPerClient: number = MOST_PER_CLIENT) {
    this.#snapshot = snapshot
    this.#most = most
    this.#mostPerClient = mostPerClient
  }

  get size(): number {
    return this.#viewers.size
  }

  /** Whether there is no place for one more from this address, and why. */
  fullFor(client: string): 'for all' | 'for you' | undefined {
    if (this.#viewers.size >= this.#most) return 'for all'
    return (this.#clients.get(client) ?? 0) >= this.#mostPerClient ? 'for you' : undefined
  }

  /** Begins with the whole picture. Returns what to call when the viewer has left. */
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
    // Made at most once a tick, and only when someone has been left out.
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

  /** Only once: a viewer that is let go leaves a second time when its connection closes. */
  #remove(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return
    const others = this.#clients.get(viewer.client)! - 1
    if (others > 0) this.#clients.set(viewer.client, others)
    else this.#clients.delete(viewer.client)
  }
}

/** JSON has no line ends of its own, so that no name can end the event. */
const message = (event: string, data: Snapshot | Tick): Buffer =>
  Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
