/**
 * Sends the same message to everyone who watches: made once, written to each. A viewer whose connection has not taken
 * the last message is left out, gets the whole picture once it has, and is let go when that takes too long; so each
 * costs at most one message of memory.
 */
import type { Writable } from 'node:stream'
import type { Snapshot, Tick } from './shore.ts'

const MOST_VIEWERS = 500
/** A viewer that takes nothing for this long is gone, or as good as, ms. */
const PATIENCE_MS = 10_000
/** A page that lost us comes back after 1 to 4 s: not all of them at once. */
const RETRY_MS = [1000, 4000] as const

interface Viewer {
  readonly stream: Writable
  /** When it was first left out; undefined while it keeps up. */
  behindSince: number | undefined
}

export class Viewers {
  readonly #snapshot: () => Snapshot
  readonly #most: number
  readonly #viewers = new Set<Viewer>()

  constructor(snapshot: () => Snapshot, most: number = MOST_VIEWERS) {
    this.#snapshot = snapshot
    this.#most = most
  }

  get size(): number {
    return this.#viewers.size
  }

  get full(): boolean {
    return this.#viewers.size >= this.#most
  }

  /** Begins with the whole picture. Returns what to call when the viewer has left. */
  add(stream: Writable): () => void {
    const viewer: Viewer = { stream, behindSince: undefined }
    this.#viewers.add(viewer)
    const [least, most] = RETRY_MS
    stream.write(`retry: ${Math.round(least + Math.random() * (most - least))}\n\n`)
    stream.write(message('snapshot', this.#snapshot()))
    return () => this.#viewers.delete(viewer)
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
    for (const viewer of this.#viewers) viewer.stream.end()
    this.#viewers.clear()
  }

  #letGo(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    viewer.stream.destroy()
  }
}

/** JSON has no line ends of its own, so that no name can end the event. */
const message = (event: string, data: Snapshot | Tick): Buffer =>
  Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
