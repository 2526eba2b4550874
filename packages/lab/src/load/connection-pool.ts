/** The connections of one worker: opens the standing set, hands out free ones, replaces closed ones. */
import { nowMs } from './clock.ts'
import type { Connection, Dialer } from './connection.ts'
import { Fifo } from './fifo.ts'

/** Time for the server to close a connection that is no longer needed; longer than the margin below. */
const LINGER_MS = 1500
/** A server may close a connection near its Keep-Alive timeout: the last second (at most half the time) is unused. */
const LEAVE_BEFORE_MS = 1000
/** Interval of the check for slow connects while the standing set opens. */
const LOOK_EVERY_MS = 20
/** Standing connections that the server closed while idle are replaced one by one, at this interval per worker. */
const REPLACE_EVERY_MS = 10

export interface PoolSize {
  readonly standing: number
  readonly most: number
  /** Maximum connections of the standing set that connect at the same time. */
  readonly connectingAtOnce: number
}

export class ConnectionPool {
  standingOpened = 0
  readonly #size: PoolSize
  readonly #dialer: Dialer
  readonly #free = new Fifo<Connection>()
  /** In the order in which they began to connect. */
  readonly #connecting = new Set<Connection>()
  readonly #closing = new Set<Connection>()
  #open = 0
  /** Attempts to open the standing set: at most its size, so that a server that closes each at once gets no more. */
  #begun = 0
  #toReplace = 0
  #lastReplace = 0
  #standingReady: (() => void) | undefined
  #looking: NodeJS.Timeout | undefined
  #standingFailed = false

  constructor(size: PoolSize, dialer: Dialer) {
    this.#size = size
    this.#dialer = dialer
  }

  /** Opens the standing set gradually. Ends early if a connection fails or is slow: the run will say what is wrong. */
  openStanding(timeoutMs: number): Promise<void> {
    return new Promise(resolve => {
      this.#standingReady = resolve
      // The run has not begun, so times are those of `nowMs()`.
      this.#looking = setInterval(() => {
        for (const connection of this.overdue(nowMs(), timeoutMs)) this.#drop(connection)
      }, LOOK_EVERY_MS)
      this.#openMoreStanding()
    })
  }

  #openMoreStanding(): void {
    const { standing, connectingAtOnce } = this.#size
    while (!this.#standingFailed && this.#begun < standing && this.#connecting.size < connectingAtOnce) {
      this.#begun++
      this.#connectIdle(nowMs())
    }
    if (this.#connecting.size === 0) this.standingDone()
  }

  /** Connections that are open now form the standing set. Those still connecting are closed, to make room. */
  standingDone(): void {
    const ready = this.#standingReady
    if (ready === undefined) return
    this.#standingReady = undefined
    clearInterval(this.#looking)
    for (const connection of this.#connecting) this.#drop(connection)
    this.standingOpened = this.#open
    ready()
  }

  #drop(connection: Connection): void {
    connection.destroy()
    this.lost(connection)
  }

  get hasRoom(): boolean {
    return this.#open < this.#size.most && this.#dialer.hasRoom
  }

  get closing(): number {
    return this.#closing.size
  }

  /** Returns the connection that has been free the longest, so that the pool uses its connections round robin. */
  takeFree(now: number): Connection | undefined {
    for (;;) {
      const free = this.#free.shift()
      if (free === undefined) return undefined
      if (free.state !== 'open') continue
      if (free.usableUntil > now) return free
      this.#toReplace++
      this.#retire(free, now)
    }
  }

  /** The connection gets no more requests. Normally the server closes it; if not, `tidy` does. */
  #retire(connection: Connection, now: number): void {
    this.#open--
    connection.since = now
    this.#closing.add(connection)
  }

  connect(now: number): Connection {
    const connection = this.#dialer.connect()
    connection.since = now
    if (connection.state === 'connecting') this.#connecting.add(connection)
    this.#open++
    return connection
  }

  #connectIdle(now: number): void {
    const connection = this.connect(now)
    if (connection.state === 'open') this.#free.push(connection)
  }

  connected(connection: Connection): void {
    this.#connecting.delete(connection)
    if (!connection.busy) this.#free.push(connection)
    if (this.#standingReady !== undefined) this.#openMoreStanding()
  }

  answered(connection: Connection, reusable: boolean, now: number): void {
    if (!reusable) {
      this.#retire(connection, now)
      return
    }
    const { keptMs } = connection
    connection.usableUntil = now + keptMs - Math.min(LEAVE_BEFORE_MS, keptMs / 2)
    this.#free.push(connection)
  }

  /** The connection failed or the generator closed it. Returns true if it had been open. */
  lost(connection: Connection): boolean {
    const connected = !this.#connecting.delete(connection)
    this.#open--
    if (this.#standingReady !== undefined) {
      this.#standingFailed = true
      if (this.#connecting.size === 0) this.standingDone()
    }
    return connected
  }

  gone(connection: Connection): void {
    if (this.#closing.delete(connection)) return
    this.#open--
    this.#toReplace++
  }

  *overdue(now: number, timeoutMs: number): Generator<Connection> {
    for (const connection of this.#connecting) {
      if (connection.since + timeoutMs > now) return
      yield connection
    }
  }

  /** Closes retired connections (at once if `ending`), and replaces one of the standing set if `needed`. */
  tidy(now: number, ending: boolean, needed: boolean): void {
    for (const connection of this.#closing) {
      if (connection.since + (ending ? 0 : LINGER_MS) > now) break
      this.#closing.delete(connection)
      connection.destroy()
    }
    if (this.#toReplace === 0 || now - this.#lastReplace < REPLACE_EVERY_MS) return
    this.#lastReplace = now
    this.#toReplace--
    if (needed && this.#open < this.#size.standing && this.hasRoom) this.#connectIdle(now)
  }

  destroy(): void {
    for (const connection of [...this.#connecting, ...this.#closing]) connection.destroy()
    for (let free = this.#free.shift(); free !== undefined; free = this.#free.shift()) free.destroy()
    this.#dialer.destroy()
  }
}
