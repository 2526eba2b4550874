/**
 * Accept lanes: one server listening on several SO_REUSEPORT sockets.
 *
 * Since libuv 1.45 (Node 20) a listening socket accepts one connection per turn of the event loop, so a server that
 * does 1 ms of work per turn accepts at most 1,000/s; the rest wait in the kernel, where no admission decision can
 * reach them. N sockets on one address accept N per turn. See https://github.com/libuv/libuv/pull/3696 and
 * https://github.com/nodejs/node/issues/57364; figures in bench/results/accept-lanes.txt.
 *
 * Node calls `server._listen2(address, port, ...)` once arguments are normalised, names resolved and the cluster
 * consulted, and keeps that name "to avoid breaking code that wraps this method" (lib/net.js). We wrap it, so every
 * form of listen(), its errors and its timing stay Node's own. The socket Node makes is the main one; what the extra
 * ones accept is handed to the main one's `onconnection`, so Node itself counts, limits (`maxConnections`), configures
 * and emits every connection. The extra sockets live and die with the main one's handle.
 *
 * Nothing of ours reaches the app as an error: whatever fails leaves fewer lanes, at worst Node's one listener.
 */
import cluster from 'node:cluster'
import type net from 'node:net'
import { LaneBacklogs } from './lane-backlogs.ts'
import {
  addressIsFree,
  bindSocket,
  canShareAddresses,
  claimPort,
  DEFAULT_BACKLOG,
  type ListenAddress,
  type ListenHandle,
  REUSE_PORT,
} from './listen-socket.ts'

/**
 * Listening sockets per server. At k times the capacity, with S ms of work per turn and c ms to accept and shed one
 * connection, k / (1 - k c / S) must be accepted per turn. For 10 times the capacity of 5 ms handlers that is 14 to 17
 * (c = 0.15 to 0.2 ms): sixteen just hold, with twice the latency of thirty-two, and starve beyond. Sixty-four
 * gained nothing in goodput. No cost per request or when idle was measurable; see bench/results/accept-lanes.txt.
 */
export const DEFAULT_LANES = 32

export interface LaneOptions {
  /** Listening sockets wanted, the main one included; 1 turns lanes off. @default 32 (DEFAULT_LANES) */
  readonly lanes: number
  /**
   * Called once per listen() that ends with fewer listeners than wanted although the platform could, with a sentence
   * for a log.
   */
  readonly onWarning?: (warning: string) => void
}

export interface Lanes {
  /** Sockets listening now; 0 before listen() and after close(). */
  readonly count: number
  /**
   * Undo: later calls of listen() are Node's own, extra lanes close now and the main listener stays. The kernel resets
   * connections that wait unaccepted in a closing lane, as it does for any listener that closes.
   */
  close(): void
}

type Listen2 = (
  this: ServerInternals,
  address: string | null,
  port: number,
  addressType: number,
  backlog: unknown,
  fd: unknown,
  flags: number | undefined,
  ...rest: unknown[]
) => void

/** The parts of net.Server that Node keeps for itself. */
interface ServerInternals {
  _handle?: ListenHandle | null
  _listen2?: Listen2
}

interface Extra {
  /** Empty once the main listener has closed. */
  readonly lanes: readonly ListenHandle[]
  /** Closes them; the main listener goes on alone. */
  readonly detach: () => void
}

/** Makes every later listen() of this server open lanes. Call before listen(). */
export function openLanes(server: net.Server, { lanes, onWarning }: LaneOptions): Lanes {
  const internals = server as unknown as ServerInternals
  const wanted = Math.max(1, Math.floor(lanes) || 1)
  const original = internals._listen2
  let extra: Extra | undefined
  let closed = false

  const warn = (reason: string): void => {
    // A logger that throws must not cost the app its listener.
    attempt(() => onWarning?.(`${reason} (one listener accepts one connection per turn of the event loop)`))
  }

  const listen2: Listen2 = function (address, port, addressType, backlog, fd, flags, ...rest) {
    const at: ListenAddress = { address, port, addressType, flags: Number(flags) || 0 }
    extra = undefined
    const plan = closed
      ? undefined
      : (attempt(() => planListen(this, at, fd)) ?? { warning: 'lanes failed to prepare' })
    if (plan?.release === undefined) {
      if (plan?.warning !== undefined) warn(plan.warning)
      return original!.call(this, address, port, addressType, backlog, fd, flags, ...rest)
    }
    const each = backlogPerLane(backlog, wanted)
    try {
      original!.call(this, address, port, addressType, each, fd, at.flags | REUSE_PORT, ...rest)
    } finally {
      attempt(plan.release)
    }
    const main = this._handle
    // Node emits its own 'error' on the next tick; there is nothing to add lanes to.
    if (!main) return
    extra = attempt(() => addLanes(main, at, each, wanted))
    const count = 1 + (extra?.lanes.length ?? 0)
    if (count < wanted) warn(`only ${count} of ${wanted} listeners could be opened`)
  }

  if (wanted > 1) {
    if (typeof original === 'function') internals._listen2 = listen2
    else warn('this runtime has no net.Server._listen2 to build lanes on')
  }

  return {
    get count() {
      return server.listening ? 1 + (extra?.lanes.length ?? 0) : 0
    },
    close() {
      closed = true
      extra?.detach()
      extra = undefined
      // Somebody may have wrapped ours meanwhile; then it stays, and passes on.
      if (internals._listen2 !== listen2) return
      if (original === Object.getPrototypeOf(server)._listen2) delete internals._listen2
      else internals._listen2 = original!
    },
  }
}

interface Plan {
  /** Why this listen() is left alone; absent where nobody need know. */
  readonly warning?: string
  /** Present when lanes may be opened: gives the port's mutex back. */
  readonly release?: () => void
}

/** Decides whether this listen() may have lanes. Takes the port's mutex when it may. */
function planListen(server: ServerInternals, at: ListenAddress, fd: unknown): Plan {
  if (server._handle && cluster.isWorker) {
    return { warning: 'cluster workers share the listening socket of the primary, which does nothing but accept' }
  }
  if (server._handle) return { warning: 'listening on a handle made elsewhere' }
  if (typeof fd === 'number' && fd >= 0) return { warning: 'listening on an inherited file descriptor' }
  if (at.port < 0) return { warning: 'listening on a Unix socket or named pipe' }
  if (!canShareAddresses()) return {}
  // The operator asked for sharing (reusePort: true, e.g. a rolling restart): a taken port is no surprise. And for port 0
  // the kernel picks one that nobody has, shared or not.
  if (at.flags & REUSE_PORT || at.port === 0) return { release: () => undefined }

  // SO_REUSEPORT switches EADDRINUSE off, and two processes would silently split the traffic. So the question is asked
  // first without it; when the answer is no, Node's own listen() runs untouched and raises its own error.
  const release = claimPort(at.port)
  // Whoever holds the claim is opening this port now. An unshared listen() makes the kernel decide between the two:
  // one of them gets EADDRINUSE, whichever comes first.
  if (release === undefined) return { warning: `another process was opening port ${at.port} at this moment` }
  if (addressIsFree(at)) return { release }
  release()
  return {}
}

/**
 * The backlog of one lane. At Node's default and above, every lane gets the full one: the longer queue in total is the
 * purpose (fastify passes 511 explicitly, so an explicit value does not tell a wish). An operator who asks for less wants
 * a short queue, and gets about that length in total.
 */
function backlogPerLane(backlog: unknown, lanes: number): number {
  const asked = Number(backlog) || DEFAULT_BACKLOG
  return asked >= DEFAULT_BACKLOG ? asked : Math.ceil(asked / lanes)
}

/** Opens the extra lanes beside a main socket that listens, and ties them to it. */
function addLanes(main: ListenHandle, at: ListenAddress, backlog: number, wanted: number): Extra | undefined {
  const bound: { address?: string; port?: number; family?: string } = {}
  if (typeof main.onconnection !== 'function' || main.getsockname(bound) !== 0 || bound.port === undefined) {
    return undefined
  }
  const beside: ListenAddress = {
    // The literal of the caller keeps an IPv6 scope (`fe80::1%eth0`); null became `::` or `0.0.0.0`, whichever exists.
    address: at.address || (bound.address ?? null),
    port: bound.port,
    addressType: bound.family === 'IPv6' ? 6 : 4,
    flags: at.flags | REUSE_PORT,
  }
  const lanes: ListenHandle[] = []
  const backlogs = new LaneBacklogs(main, lanes, backlog)
  const accepted = (): void => backlogs.accepted()
  while (lanes.length < wanted - 1) {
    const lane = attempt(() => openLane(beside, main, backlog, () => attempt(accepted)))
    if (!lane) break
    lanes.push(lane)
  }
  return { lanes, detach: tie(main, lanes) }
}

function openLane(
  at: ListenAddress,
  main: ListenHandle,
  backlog: number,
  accepted: () => void,
): ListenHandle | undefined {
  const lane = bindSocket(at)
  if (!lane) return undefined
  // Looked up at each call: node:cluster's primary, for one, replaces onconnection after listen().
  lane.onconnection = (status, client) => {
    accepted()
    main.onconnection?.call(main, status, client)
  }
  if (lane.listen(backlog) !== 0) {
    lane.close()
    return undefined
  }
  if (!main.hasRef()) lane.unref()
  return lane
}

/**
 * Makes the extra lanes follow the main handle: whatever closes, refs or unrefs it (server.close(), an abort signal,
 * asyncDispose, server.unref()) goes through these methods. Answers the function that closes the extra lanes and takes
 * the methods off again.
 */
function tie(main: ListenHandle, lanes: ListenHandle[]): () => void {
  const { close, ref, unref } = main
  const each = (act: (lane: ListenHandle) => void): void => {
    for (const lane of lanes) attempt(() => act(lane))
  }
  function detach(): void {
    each(lane => lane.close())
    lanes.length = 0
    for (const name of ['close', 'ref', 'unref'] as const) Reflect.deleteProperty(main, name)
  }
  main.close = callback => {
    detach()
    return close.call(main, callback)
  }
  main.ref = () => {
    each(lane => lane.ref())
    return ref.call(main)
  }
  main.unref = () => {
    each(lane => lane.unref())
    return unref.call(main)
  }
  return detach
}

/** Ours may fail; the app must not notice. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}
