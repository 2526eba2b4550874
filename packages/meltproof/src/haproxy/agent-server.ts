/**
 * The agent's port: each connection gets one line. Any number of connections, with any data, costs the service almost
 * nothing and cannot make it fail.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers'
import { now } from '../clock.ts'
import { Advice, type Figures, RELEASE } from './advice.ts'

/** Maximum number of connections. The oldest is closed to make room, because it has received its line. */
const MOST_CONNECTIONS = 100
/** A line is reused for this time, ms: making one costs more than sending it. */
const SAME_MS = 100
/** Idle and half-open clients are disconnected after this time, ms. */
const PATIENCE_MS = 5000
/** A balancer is forgotten after this time, ms. HAProxy asks every 2 s by default. */
const GONE_MS = 10_000
/** Maximum number of addresses that are remembered, because every client that reaches the port can ask. */
const MOST_BALANCERS = 64

/** The addresses of balancers that asked recently. */
export class Balancers {
  readonly #askedAt = new Map<string, number>()

  asks(address: string, nowMs: number): void {
    for (const [other, atMs] of this.#askedAt) if (nowMs - atMs > GONE_MS) this.#askedAt.delete(other)
    if (this.#askedAt.has(address) || this.#askedAt.size < MOST_BALANCERS) this.#askedAt.set(address, nowMs)
  }

  get addresses(): string[] {
    return [...this.#askedAt.keys()]
  }
}

export class AgentServer {
  readonly server: Server
  readonly #figures: () => Promise<Figures | undefined> | Figures | undefined
  readonly #onLimited: () => void
  readonly #advice = new Advice()
  readonly #balancers = new Balancers()
  /** Sockets, oldest first. */
  readonly #sockets = new Set<Socket>()
  #line: { readonly text: Promise<string>; readonly atMs: number } | undefined
  /** After {@link release}, balancers that have not yet received a line without a limit. */
  #toRelease: Set<string> | undefined

  /** @param onLimited called when a balancer has read a number that limits it */
  constructor(
    figures: () => Promise<Figures | undefined> | Figures | undefined,
    onLimited: () => void = () => undefined,
  ) {
    this.#figures = figures
    this.#onLimited = onLimited
    this.server = createServer({ allowHalfOpen: true }, socket => this.#answer(socket))
    this.server.unref()
  }

  /**
   * HAProxy keeps the last number that it received. So the port is closed once each balancer has received a line
   * without a limit, at the latest after 10 s.
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
      if (this.#advice.holds) this.#onLimited()
    })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy())
    // Reads the text of `agent-send`: closing a socket with unread bytes resets it, and the line may be lost.
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
