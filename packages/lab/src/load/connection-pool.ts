/**
 * The connections of one worker: opens the standing set, hands out those that are free, replaces what the server closed,
 * and ends what nobody needs any more. Knows no schedule and counts no requests. Times are milliseconds of the run.
 */
import { nowMs } from './clock.ts'
import type { Connection, Dialer } from './connection.ts'
import { Fifo } from './fifo.ts'

/** A connection we no longer need is given this long to be closed by the server: longer than the margin below. */
const LINGER_MS = 1500
/**
 * A server that says for how long it keeps an idle connection (Keep-Alive: timeout=5) may close it just as a request is on
 * its way. So it gets none in the last second, or the last half where it keeps it for less than two.
 */
const LEAVE_BEFORE_MS = 1000
/** While the standing set opens, what takes too long is looked for this often. */
const LOOK_EVERY_MS = 20
/** Standing connections that the server closed while idle are replaced one at a time, this far apart, per worker. */
const REPLACE_EVERY_MS = 10

export interface PoolSize {
  readonly standing: number
  readonly most: number
  /** Connections of the standing set that may be connecting at once. */
  readonly connectingAtOnce: number
}

export class ConnectionPool {
  /** Opened before the start. */
  standingOpened = 0
  readonly #size: PoolSize
  readonly #dialer: Dialer
  readonly #free = new Fifo<Connection>()
  /** In order of their beginning. */
  readonly #connecting = new Set<Connection>()
  readonly #closing = new Set<Connection>()
  #open = 0
  /** Of the standing set: no more are begun than it has, or a server that closes each at once would keep us busy for ever. */
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

  /**
   * Opens the standing set, gently. Ends early when one of them fails, or does not stand within `timeoutMs`: the run itself
   * will say what is wrong.
   */
  openStanding(timeoutMs: number): Promise<void> {
    return new Promise(resolve => {
      this.#standingReady = resolve
      // The run has not begun: these times are of the clock.
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

  /** What has been opened by now is the standing set. What is still connecting ends here, so that the run has its place. */
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

  get hasFree(): boolean {
    return this.#free.length > 0
  }

  get hasRoom(): boolean {
    return this.#open < this.#size.most && this.#dialer.hasRoom
  }

  get closing(): number {
    return this.#closing.size
  }

  /** The one that has been free the longest, so that all of them are used in turn. */
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

  /** No request goes on it any more; the server closes it. */
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

  isConnecting(connection: Connection): boolean {
    return this.#connecting.has(connection)
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

  /** It failed, or is ended by us; true when it stood. */
  lost(connection: Connection): boolean {
    const connected = !this.#connecting.delete(connection)
    this.#open--
    if (this.#standingReady !== undefined) {
      this.#standingFailed = true
      if (this.#connecting.size === 0) this.standingDone()
    }
    return connected
  }

  /** The server closed it while it was idle. */
  gone(connection: Connection): void {
    if (this.#closing.delete(connection)) return
    this.#open--
    this.#toReplace++
  }

  /** Those that have been connecting for longer than `timeoutMs`. */
  *overdue(now: number, timeoutMs: number): Generator<Connection> {
    for (const connection of this.#connecting) {
      if (connection.since + timeoutMs > now) return
      yield connection
    }
  }

  /** Ends what lingers, at once when the run is `ending`, and replaces one of the standing set while it may be needed. */
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
