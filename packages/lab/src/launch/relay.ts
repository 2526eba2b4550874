/** A TCP relay in front of a dependency, which can hold everything back as if the dependency had stopped. */
import { once } from 'node:events'
import net from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

/** Longest wait for the dependency to accept a connection, ms. */
const CONNECT_MS = 5000

export class Relay {
  /** The number of connections so far. */
  accepted = 0
  /** Bytes passed on so far, in both directions. */
  passedBytes = 0
  readonly #to: Address
  readonly #server = net.createServer({ allowHalfOpen: true }, client => this.#accept(client))
  readonly #sockets = new Set<net.Socket>()
  /** Clients accepted while everything is held back; release() connects them to the dependency. */
  readonly #waiting = new Set<net.Socket>()
  #held = false

  private constructor(to: Address) {
    this.#to = to
    // After an error such as EMFILE the client waits, as it would in the dependency's own backlog.
    this.#server.on('error', () => {})
  }

  /** @throws the system's error, or a TimeoutError after 5 s, if nothing accepts a connection there */
  static async open(to: Address, signal: AbortSignal): Promise<Relay> {
    const probe = net.connect(to)
    try {
      await once(probe, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]) })
    } finally {
      probe.on('error', () => {}).destroy()
    }
    const relay = new Relay(to)
    await once(relay.#server.listen(0, '127.0.0.1'), 'listening')
    return relay
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** From now on connections are accepted, but no byte passes in either direction until release(). */
  hold(): void {
    this.#held = true
    for (const socket of this.#sockets) socket.pause()
  }

  release(): void {
    this.#held = false
    for (const socket of this.#sockets) socket.resume()
    for (const client of this.#waiting) this.#connect(client)
    this.#waiting.clear()
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of [...this.#sockets, ...this.#waiting]) socket.destroy()
    await closed
  }

  #accept(client: net.Socket): void {
    this.accepted++
    if (!this.#held) {
      this.#connect(client)
      return
    }
    this.#waiting.add(client.pause())
    client.on('error', () => {}).on('close', () => this.#waiting.delete(client))
  }

  #connect(client: net.Socket): void {
    const dependency = net.connect({ ...this.#to, allowHalfOpen: true })
    this.#forward(client, dependency)
    this.#forward(dependency, client)
    client.resume()
  }

  #forward(from: net.Socket, to: net.Socket): void {
    this.#sockets.add(from)
    from
      .setNoDelay(true)
      .on('data', chunk => {
        this.passedBytes += chunk.length
        if (!to.write(chunk)) from.pause()
      })
      .on('end', () => to.end())
      .on('error', () => to.destroy())
      .on('close', () => {
        this.#sockets.delete(from)
        to.destroySoon()
      })
    to.on('drain', () => {
      if (!this.#held) from.resume()
    })
  }
}
