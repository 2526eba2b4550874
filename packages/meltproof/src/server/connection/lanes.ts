/**
 * Accept lanes: one server listening on several SO_REUSEPORT sockets. Since libuv 1.45 (Node 20) a listening socket
 * accepts one connection per turn of the event loop, so 1 ms of work per turn allows 1,000/s; the rest wait in the
 * kernel (https://github.com/libuv/libuv/pull/3696, docs/benchmarks.md).
 *
 * Node calls `server._listen2()` after it has normalised the arguments (lib/net.js), so Node itself still handles every
 * form of listen(). Extra sockets pass connections to the main socket's `onconnection`. A failure leaves fewer lanes.
 */
import type net from 'node:net'
import { isWorker, printsForCluster } from '../../loaded.ts'
import { type Method, replaceMethod } from '../../replace-method.ts'
import { quietly } from '../../warnings.ts'
import { adaptBacklogs } from './lane-backlogs.ts'
import {
  bindSocket,
  canBind,
  canShareAddresses,
  claimPort,
  DEFAULT_BACKLOG,
  type ListenAddress,
  type ListenHandle,
  REUSE_PORT,
} from './listen-socket.ts'

/** With 5 ms handlers at 10 times capacity, 32 lanes halve the latency of 16; 64 gain nothing (bench/accept-lanes). */
export const DEFAULT_LANES = 32
/** Maximum number of extra lanes in a process, unless one server wants more: each is a file descriptor. */
const MOST_EXTRA = 3 * (DEFAULT_LANES - 1)
let extraLanes = 0

export interface Lanes {
  readonly count: number
  /** Closes one extra lane. Returns false when there is none. */
  closeOne(): boolean
  /** Closes the extra lanes; the main listener stays. The kernel resets connections that wait in a closing lane. */
  close(): void
}

type ListenArguments = [string | null, number, number, unknown, unknown, unknown, ...unknown[]]

interface ServerInternals {
  _handle?: ListenHandle | null
  _listen2?: unknown
}

/**
 * @param wanted how many sockets listen, the main one included; 1 turns lanes off
 * @param onWarning called once per listen() that opens fewer sockets than wanted, although the platform supports more
 */
export function openLanes(server: net.Server, wanted: number, onWarning?: (warning: string) => void): Lanes {
  const internals = server as unknown as ServerInternals
  let extra: { readonly lanes: ListenHandle[]; readonly detach: () => void } | undefined

  const warn = (reason: string): void => {
    // An exception of onWarning must not prevent listen().
    quietly(() => onWarning?.(`${reason} (one listening socket accepts one connection per turn of the event loop)`))
  }

  const listen2 = (original: Method, mayOpen: boolean, args: ListenArguments): void => {
    const [address, port, addressType, backlog, fd, flags, ...rest] = args
    const at: ListenAddress = { address, port, addressType, flags: Number(flags) || 0 }
    extra = undefined
    const room = Math.min(wanted - 1, Math.max(MOST_EXTRA, wanted - 1) - extraLanes)
    const plan = mayOpen && room >= 1 ? quietly(() => planListen(internals, at, fd)) : undefined
    if (typeof plan !== 'function') {
      if (plan !== undefined) warn(plan)
      original(...args)
      return
    }
    // Each lane gets the whole backlog. The kernel chooses lanes at random, so with a share some would overflow early.
    const each = Number(backlog) || DEFAULT_BACKLOG
    try {
      original(address, port, addressType, each, fd, at.flags | REUSE_PORT, ...rest)
    } finally {
      quietly(plan)
    }
    const main = internals._handle
    if (!main) return
    const lanes = quietly(() => addLanes(main, at, each, room)) ?? []
    const detach = quietly(() => tie(main, lanes))
    if (detach === undefined) closeAll(lanes)
    else extra = { lanes, detach }
    if (lanes.length < room) warn(`only ${1 + lanes.length} of ${1 + room} listening sockets could be opened`)
  }

  let undo = (): void => undefined
  if (wanted > 1) {
    if (typeof internals._listen2 !== 'function') {
      warn('this runtime has no net.Server._listen2, which accept lanes need')
    }
    undo = replaceMethod(server, '_listen2', (original, isOn) => (...args) => {
      listen2(original, isOn(), args as ListenArguments)
    })
  }

  return {
    get count() {
      return server.listening ? 1 + (extra?.lanes.length ?? 0) : 0
    },
    closeOne() {
      const lane = extra?.lanes.pop()
      if (lane === undefined) return false
      extraLanes--
      quietly(() => lane.close())
      return true
    },
    close() {
      undo()
      extra?.detach()
      extra = undefined
    },
  }
}

/** Returns a function that releases the port if lanes may be opened; otherwise the reason, if it deserves a warning. */
function planListen(server: ServerInternals, at: ListenAddress, fd: unknown): (() => void) | string | undefined {
  if ((typeof fd === 'number' && fd >= 0) || at.port < 0) return undefined
  if (server._handle && isWorker()) {
    const why = 'cluster workers share the listening socket of the primary process, which only accepts connections'
    return printsForCluster() ? why : undefined
  }
  if (server._handle || !canShareAddresses()) return undefined
  // A rolling restart shares the port on purpose, and for port 0 the kernel picks a free one.
  if (at.flags & REUSE_PORT || at.port === 0) return () => undefined

  // SO_REUSEPORT switches EADDRINUSE off, and two processes would silently split the traffic. So the address is probed
  // without it first; if it is taken, Node's own listen() raises its own error.
  const release = claimPort(at.port)
  // Without lanes the kernel decides which of the two processes gets the port; the other gets EADDRINUSE.
  if (release === undefined) return `another process was opening port ${at.port} at the same time`
  if (canBind({ ...at, flags: at.flags & ~REUSE_PORT })) return release
  release()
  return undefined
}

function addLanes(main: ListenHandle, at: ListenAddress, backlog: number, most: number): ListenHandle[] {
  const bound: { address?: string; port?: number; family?: string } = {}
  if (typeof main.onconnection !== 'function' || main.getsockname(bound) !== 0 || bound.port === undefined) return []
  const beside: ListenAddress = {
    // The caller's literal keeps an IPv6 scope (`fe80::1%eth0`); Node turned null into `::` or `0.0.0.0`.
    address: at.address || (bound.address ?? null),
    port: bound.port,
    addressType: bound.family === 'IPv6' ? 6 : 4,
    flags: at.flags | REUSE_PORT,
  }
  const lanes: ListenHandle[] = []
  const accepted = adaptBacklogs(main, lanes, backlog)
  while (lanes.length < most) {
    const lane = quietly(() => openLane(beside, main, backlog, () => quietly(accepted)))
    if (!lane) break
    lanes.push(lane)
  }
  extraLanes += lanes.length
  return lanes
}

function openLane(
  at: ListenAddress,
  main: ListenHandle,
  backlog: number,
  accepted: () => void,
): ListenHandle | undefined {
  const lane = bindSocket(at)
  if (!lane) return undefined
  // onconnection is read at each call, because other code replaces it after listen(), such as node:cluster's primary.
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

/** Closes, refs and unrefs the extra lanes with the main handle. The returned function closes them and undoes this. */
function tie(main: ListenHandle, lanes: ListenHandle[]): () => void {
  const undos = (['ref', 'unref'] as const).map(name =>
    replaceMethod(main, name, original => () => {
      for (const lane of lanes) quietly(() => lane[name]())
      return original()
    }),
  )
  function detach(): void {
    closeAll(lanes)
    for (const undo of undos) undo()
  }
  undos.push(
    replaceMethod(main, 'close', close => callback => {
      detach()
      return close(callback)
    }),
  )
  return detach
}

function closeAll(lanes: ListenHandle[]): void {
  for (const lane of lanes) quietly(() => lane.close())
  extraLanes -= lanes.length
  lanes.length = 0
}
