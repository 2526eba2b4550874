/**
 * The agent's port: each connection gets one line. Questions of any kind, number and origin cost the service next to
 * nothing, and no failure here reaches it.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { now } from '../clock.ts'
import { Advice, type Figures, RELEASE } from './advice.ts'

/** Connections at the same time. The oldest is closed to make room: it has had its line. */
const MOST_CONNECTIONS = 100
/** A line is repeated for this long, ms: making one costs more than sending it. */
const SAME_MS = 100
/** Idle and half-open clients are disconnected after this, ms. */
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
   * @param isHeld called when a balancer has read a number that holds it
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
