/**
 * The agent's port: each connection gets one line. Connections of any kind, number and origin cost the service almost
 * nothing, and no failure here reaches it.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { now } from '../clock.ts'
import { Advice, type Figures, RELEASE } from './advice.ts'
import { Balancers } from './balancers.ts'

/** Maximum number of connections. The oldest is closed to make room: it has received its line. */
const MOST_CONNECTIONS = 100
/** A line is reused for this long, ms: making one costs more than sending it. */
const SAME_MS = 100
/** Idle and half-open clients are disconnected after this, ms. */
const PATIENCE_MS = 5000

export class AgentServer {
  readonly server: Server
  readonly #figures: () => Promise<Figures | undefined> | Figures | undefined
  readonly #isHeld: () => void
  readonly #advice = new Advice()
  readonly #balancers = new Balancers()
  /** Sockets, oldest first. */
  readonly #sockets = new Set<Socket>()
  #line: { readonly text: Promise<string>; readonly atMs: number } | undefined
  /** Balancers that have not yet received a number without a limit. */
  #toRelease: Set<string> | undefined

  /**
   * @param figures undefined: no server listens, so no requests should be sent
   * @param isHeld called when a balancer has read a number that limits it
   */
  constructor(figures: () => Promise<Figures | undefined> | Figures | undefined, isHeld: () => void = () => undefined) {
    this.#figures = figures
    this.#isHeld = isHeld
    this.server = createServer({ allowHalfOpen: true }, socket => this.#answer(socket))
    this.server.unref()
  }

  /**
   * No more figures follow. HAProxy keeps its last number, so each balancer gets one without a limit; then it closes.
   */
  release(): void {
    this.#toRelease ??= new Set(this.#balancers.addresses)
    this.#line = { text: Promise.resolve(RELEASE), atMs: Number.POSITIVE_INFINITY }
    if (this.#toRelease.size === 0) this.close()
    else setTimeout(() => this.close(), 10_000).unref()
  }

  close(): void {
    if (this.server.listening) this.server.close()
  }

  #answer(socket: Socket): void {
    socket.unref()
    socket.on('error', () => undefined)
    if (this.#sockets.size >= MOST_CONNECTIONS) this.#sockets.values().next().value?.destroy()
    this.#sockets.add(socket)
    // HAProxy disconnects when it has read the line.
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (this.#advice.holds) this.#isHeld()
    })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy())
    // The text of `agent-send` is read: closing a socket with unread bytes resets it, and its line may be lost.
    socket.resume()
    const address = socket.remoteAddress ?? ''
    this.#balancers.asks(address, now())
    this.#currentLine().then(
      line => socket.end(line, () => this.#hasTold(address)),
      () => socket.destroy(),
    )
  }

  #hasTold(address: string): void {
    if (this.#toRelease?.delete(address) && this.#toRelease.size === 0) this.close()
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
      return RELEASE // A failure of meltproof must not limit the balancer.
    }
  }
}
