/** An HTTP/1.1 connection: writes bytes to its socket at once, and parses input in the read buffer. */
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { Connection, type ConnectionOwner } from './connection.ts'
import { explain, failureOf } from './failure.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import { ResponseParser } from './response-parser.ts'
import { dial, type Peer } from './target.ts'

/** One buffer for all sockets of the thread: input is parsed before the next read. libuv reads at most 64 KiB. */
const readBuffer = new Uint8Array(65_536)

export class Http1Connection extends Connection {
  #request: Uint8Array | undefined
  #headRequest = false
  readonly #parser = new ResponseParser()
  readonly #socket: Socket

  /** `tls`: options for a server that uses TLS. */
  constructor(owner: ConnectionOwner, peer: Peer, tls: ConnectionOptions) {
    super(owner, peer)
    this.#socket = dial(peer, tls, () => this.#connected(), {
      buffer: readBuffer,
      callback: count => this.#read(count),
    })
      .on('error', (error: NodeJS.ErrnoException) => this.#broke(error))
      .on('end', () => this.#ended())
      .on('close', () => this.#ended())
  }

  get bodyBytes(): number {
    return this.#parser.bodyBytes
  }

  get keptMs(): number {
    return this.#parser.keptMs
  }

  send(request: OutgoingRequest): void {
    this.busy = true
    this.#request = request.bytes(this.number, this.run?.extracted)
    this.#headRequest = request.isHead
    if (this.state === 'open') this.#write()
  }

  destroy(): void {
    this.state = 'gone'
    this.busy = false
    this.#socket.destroy()
  }

  #write(): void {
    this.#parser.start(this.#headRequest, this.run?.answer)
    this.#socket.write(this.#request!)
  }

  #connected(): void {
    if (this.state !== 'connecting') return
    this.state = 'open'
    if (this.busy) this.#write()
    this.owner.onConnected(this)
  }

  #read(count: number): boolean {
    if (this.state === 'gone') return true
    this.owner.onBytes(count)
    if (this.state !== 'open') return true
    if (!this.busy) {
      // Bytes that answer no request, such as a 408, mean that the server is closing, so it gets no more requests.
      this.leave()
      return true
    }
    const taken = this.#parser.read(readBuffer, 0, count)
    if (this.#parser.complete) this.#answered(this.#parser.reusable && taken === count)
    else if (this.#parser.failed) this.fail('malformed', this.#parser.fault)
    return true
  }

  #answered(reusable: boolean): void {
    this.busy = false
    // The side that closes first keeps the port for a minute (TIME_WAIT), so the server must close.
    if (!reusable) this.state = 'closing'
    this.owner.onAnswer(this, this.#parser.status, reusable)
  }

  #ended(): void {
    if (this.state === 'gone') return
    if (this.busy && this.state !== 'connecting') {
      this.owner.onBytes(0)
      this.#parser.end()
      if (this.#parser.complete) this.#answered(false)
    }
    if (this.busy || this.state === 'connecting') this.fail('reset', 'the connection closed too early')
    else this.leave()
  }

  #broke(error: NodeJS.ErrnoException): void {
    if (this.state === 'gone') return
    if (this.busy || this.state === 'connecting') {
      this.fail(failureOf(error.code, this.state !== 'connecting'), explain(error))
    } else {
      this.leave()
    }
  }
}
