/** A TCP relay in front of a dependency, which can hold everything back as if the dependency had stopped. */
import { once } from 'node:events'
import net from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

export class Relay {
  readonly #to: Address
  readonly #server = net.createServer({ allowHalfOpen: true }, socket => this.#relay(socket))
  readonly #sockets = new Set<net.Socket>()
  #held = false
  #accepted = 0

  private constructor(to: Address) {
    this.#to = to
  }

  /** @throws the system's error if nothing listens there */
  static async open(to: Address): Promise<Relay> {
    const probe = net.connect(to)
    await once(probe, 'connect')
    probe.destroy()
    const relay = new Relay(to)
    await once(relay.#server.listen(0, '127.0.0.1'), 'listening')
    return relay
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  /** The number of connections so far. */
  get accepted(): number {
    return this.#accepted
  }

  /** From now on connections are accepted, but no byte passes in either direction until release(). */
  hold(): void {
    this.#held = true
    for (const socket of this.#sockets) socket.pause()
  }

  release(): void {
    this.#held = false
    for (const socket of this.#sockets) socket.resume()
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #relay(client: net.Socket): void {
    this.#accepted++
    const dependency = net.connect({ ...this.#to, allowHalfOpen: true })
    this.#forward(client, dependency)
    this.#forward(dependency, client)
  }

  #forward(from: net.Socket, to: net.Socket): void {
    this.#sockets.add(from)
    from.setNoDelay(true)
    if (this.#held) from.pause()
    from
      .on('data', chunk => {
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
