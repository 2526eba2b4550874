/**
 * One connection with at most one request on it. Turns what a socket does into four calls on its owner; knows nothing
 * of schedules, pools or counts. After `onGone` or `onFailed` nothing more comes from it.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { explain, failureOf } from './failure.ts'
import type { FailureCode } from './plan.ts'
import { ResponseParser } from './response-parser.ts'
import { serverName } from './tls.ts'

export interface ConnectionOwner {
  /** Bytes came in, of whatever kind, or their end: what follows from them is told next. */
  onBytes(count: number): void
  /** The connection stands. A request given to it meanwhile has just been written. */
  onConnected(connection: Connection): void
  /** The request is answered; the connection is idle when `reusable`, else it closes by itself. */
  onAnswer(connection: Connection, status: number, reusable: boolean): void
  /** The connection failed. When it was `busy` its request failed with it. */
  onFailed(connection: Connection, code: FailureCode, reason: string): void
  /** The connection closed with no request on it. */
  onGone(connection: Connection): void
}

export interface Peer {
  /** Its place among the servers of the run. */
  readonly index: number
  readonly address: string
  readonly port: number
  /** Name for TLS to verify; undefined for plain HTTP. */
  readonly tlsName: string | undefined
}

type State = 'connecting' | 'open' | 'closing' | 'gone'

/**
 * One buffer serves every socket of the thread: what is read is parsed before the next read begins. 64 KiB is what
 * libuv reads at most at once.
 */
const readBuffer = new Uint8Array(65_536)

export class Connection {
  state: State = 'connecting'
  /** A request is on it: waiting for the connection, or for its answer. */
  busy = false
  /** Of the request on it, set by the owner: when it was due and when it was sent, milliseconds from the start. */
  due = 0
  sentAt = 0
  /** How much of its latency the generator caused by the time it was sent, milliseconds, at most. */
  ownMs = 0
  /** When connecting, then closing, began, and until when it may get another request: set by the owner. */
  since = 0
  usableUntil: number = Number.POSITIVE_INFINITY
  /** Its number, its target, and the bytes of its body: set by the owner. */
  number = -1
  target = 0
  bodySent = 0

  readonly peer: Peer
  readonly #owner: ConnectionOwner
  #request: Uint8Array | undefined
  #headRequest = false
  readonly #parser = new ResponseParser()
  readonly #socket: Socket

  /** `tls` is what its connection is made with where the peer speaks TLS. */
  constructor(owner: ConnectionOwner, peer: Peer, tls: ConnectionOptions) {
    this.#owner = owner
    this.peer = peer
    const options = {
      host: peer.address,
      port: peer.port,
      noDelay: true,
      autoSelectFamily: false,
      onread: { buffer: readBuffer, callback: (count: number): boolean => this.#read(count) },
    }
    this.#socket =
      peer.tlsName === undefined
        ? connectTcp(options).on('connect', () => this.#connected())
        : connectTls({ ...options, ...tls, servername: serverName(peer.tlsName) }).on('secureConnect', () =>
            this.#connected(),
          )
    this.#socket
      .on('error', (error: NodeJS.ErrnoException) => this.#broke(error))
      .on('end', () => this.#ended())
      .on('close', () => this.#ended())
  }

  /** Bytes of the body of its last answer. */
  get bodyBytes(): number {
    return this.#parser.bodyBytes
  }

  /** How long the server keeps it when idle, as its last answer said; Infinity when it said nothing. */
  get keptMs(): number {
    return this.#parser.keptMs
  }

  /** Puts a request on the connection; written now, or as soon as the connection stands. */
  send(request: Uint8Array, headRequest: boolean): void {
    this.busy = true
    this.#request = request
    this.#headRequest = headRequest
    if (this.state === 'open') this.#write()
  }

  /** Ends the connection at once. Says nothing to the owner, who asked for it. */
  destroy(): void {
    this.state = 'gone'
    this.busy = false
    this.#socket.destroy()
  }

  #write(): void {
    this.#parser.start(this.#headRequest)
    this.#socket.write(this.#request!)
  }

  #connected(): void {
    if (this.state !== 'connecting') return
    this.state = 'open'
    if (this.busy) this.#write()
    this.#owner.onConnected(this)
  }

  #read(count: number): boolean {
    if (this.state === 'gone') return true
    this.#owner.onBytes(count)
    if (this.state !== 'open') return true
    if (!this.busy) {
      // Bytes without a request, such as a 408 before an idle connection is closed. Do not use it again.
      this.#leave()
      return true
    }
    const taken = this.#parser.read(readBuffer, 0, count)
    if (this.#parser.complete) this.#answered(this.#parser.reusable && taken === count)
    else if (this.#parser.failed) this.#fail('malformed', this.#parser.fault)
    return true
  }

  #answered(reusable: boolean): void {
    this.busy = false
    // The side that closes first keeps the port for a minute (TIME_WAIT), so the server closes.
    if (!reusable) this.state = 'closing'
    this.#owner.onAnswer(this, this.#parser.status, reusable)
  }

  #ended(): void {
    if (this.state === 'gone') return
    if (this.busy && this.state !== 'connecting') {
      this.#owner.onBytes(0)
      this.#parser.end()
      if (this.#parser.complete) this.#answered(false)
    }
    if (this.busy || this.state === 'connecting') this.#fail('reset', 'the connection closed too early')
    else this.#leave()
  }

  #broke(error: NodeJS.ErrnoException): void {
    if (this.state === 'gone') return
    if (this.busy || this.state === 'connecting') {
      this.#fail(failureOf(error.code, this.state !== 'connecting'), explain(error.code, error.message))
    } else {
      this.#leave()
    }
  }

  #leave(): void {
    if (this.state === 'gone') return
    this.destroy()
    this.#owner.onGone(this)
  }

  #fail(code: FailureCode, reason: string): void {
    const busy = this.busy
    this.destroy()
    this.busy = busy
    this.#owner.onFailed(this, code, reason)
  }
}
