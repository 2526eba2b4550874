/**
 * The agent's port: who connects gets a line, and that is all. Whatever is asked, however often and by whom, costs the
 * service next to nothing, and nothing that goes wrong here reaches it.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { now } from '../clock.ts'
import { Advice, type Figures, RELEASE } from './advice.ts'

/** Connections at the same time. The oldest makes room: it has had its line. */
const MOST_CONNECTIONS = 100
/** The same line for so long, ms: looking costs more than answering. */
const SAME_MS = 100
/** Who neither reads nor hangs up is cut off, ms. */
const PATIENCE_MS = 5000

export class AgentServer {
  readonly server: Server
  readonly #figures: () => Promise<Figures | undefined> | Figures | undefined
  readonly #isHeld: () => void
  readonly #advice = new Advice()
  /** Oldest first. */
  readonly #sockets = new Set<Socket>()
  #line: { readonly text: Promise<string>; readonly atMs: number } | undefined

  /**
   * @param figures undefined: nothing listens, so nothing is to be sent
   * @param isHeld called when a balancer knows that it may send no more than so many
   */
  constructor(figures: () => Promise<Figures | undefined> | Figures | undefined, isHeld: () => void = () => undefined) {
    this.#figures = figures
    this.#isHeld = isHeld
    this.server = createServer({ allowHalfOpen: true }, socket => this.#answer(socket))
    this.server.unref()
  }

  #answer(socket: Socket): void {
    socket.unref()
    socket.on('error', () => undefined)
    if (this.#sockets.size >= MOST_CONNECTIONS) this.#sockets.values().next().value?.destroy()
    this.#sockets.add(socket)
    // It hangs up when it has read the line.
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (this.#advice.holds) this.#isHeld()
    })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy())
    // What `agent-send` says is read: a socket that closes with unread bytes is reset, and its line may be lost.
    socket.resume()
    this.#currentLine().then(
      line => socket.end(line),
      () => socket.destroy(),
    )
  }

  #currentLine(): Promise<string> {
    const nowMs = now()
    if (this.#line === undefined || nowMs - this.#line.atMs >= SAME_MS) {
      this.#line = { text: this.#look(), atMs: nowMs }
    }
    return this.#line.text
  }

  async #look(): Promise<string> {
    try {
      return this.#advice.line(await this.#figures(), now())
    } catch {
      return RELEASE // A failure of ours holds nothing.
    }
  }
}
