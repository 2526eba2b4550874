/**
 * The agent's port: each connection gets one line. Questions of any kind, number and origin cost the service next to
 * nothing, and no failure here reaches it.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { now } from '../clock.ts'
import { Advice, type Figures, RELEASE } from './advice.ts'
import { Balancers } from './balancers.ts'

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
  readonly #balancers = new Balancers()
  /** Oldest first. */
  readonly #sockets = new Set<Socket>()
  #line: { readonly text: Promise<string>; readonly atMs: number } | undefined
  /** Those that have not been told yet that they are held no more. */
  #toRelease: Set<string> | undefined

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

  /**
   * Nothing is known any more. HAProxy keeps what it was told last, for ever, so each balancer is told once that it is not
   * held; then the port closes.
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
    // It hangs up when it has read the line.
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (this.#advice.holds) this.#isHeld()
    })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy())
    // What `agent-send` says is read: a socket that closes with unread bytes is reset, and its line may be lost.
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
      return RELEASE // A failure of ours holds nothing.
    }
  }
}
