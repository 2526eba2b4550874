/**
 * The raw listening sockets behind net.Server: creating one, and the two questions that must be asked of the kernel
 * before a port may be shared (can this platform share, is the port taken).
 *
 * This file alone touches Node's underscore API (`net._createServerHandle`, which node:cluster uses for the same
 * purpose). It must not know what the sockets are for: no server, no lanes, no events. Nothing here throws for a
 * refusal of the kernel; a socket that cannot be had is `undefined`.
 */
import net from 'node:net'

/** What Node calls a TCP (or Pipe) handle: the part of it we use. */
export interface ListenHandle {
  /** Its descriptor, on Unix. */
  readonly fd?: number
  /** Called by libuv, once per accepted connection, with `this` = the handle. */
  onconnection?: ((this: ListenHandle, status: number, client: unknown) => void) | undefined
  /** Returns 0 or a negative errno. */
  listen(backlog: number): number
  close(callback?: () => void): void
  ref(): void
  unref(): void
  hasRef(): boolean
  /** Returns 0 or a negative errno, and fills `out`. */
  getsockname(out: { address?: string; port?: number; family?: string }): number
}

/** Where to listen, exactly as Node hands it to `server._listen2` after it normalised arguments and resolved names. */
export interface ListenAddress {
  /** An IP literal; null means the unspecified address: `::`, or `0.0.0.0` where there is no IPv6. */
  readonly address: string | null
  readonly port: number
  readonly addressType: number
  /** libuv's bind flags. */
  readonly flags: number
}

type CreateServerHandle = (
  address: string | null,
  port: number,
  addressType: number,
  fd: undefined,
  flags: number,
) => ListenHandle | number

const createServerHandle = (net as unknown as { _createServerHandle?: CreateServerHandle })._createServerHandle

/** UV_TCP_REUSEPORT of uv.h (libuv 1.49): part of libuv's stable ABI; Node does not export it. */
export const REUSE_PORT = 2

/** The backlog Node itself passes to listen(2) when none is given (lib/net.js). */
export const DEFAULT_BACKLOG = 511

/** A bound socket that does not listen yet; undefined when the kernel refused. */
export function bindSocket(at: ListenAddress): ListenHandle | undefined {
  const handle = createServerHandle?.(at.address, at.port, at.addressType, undefined, at.flags)
  if (typeof handle !== 'object') return undefined
  // On Unix libuv reports EADDRINUSE late, from listen(); asking for the name brings it out now. No listen() is
  // needed for that, so a socket that was only a question never takes a connection into its queue.
  if (handle.getsockname({}) === 0) return handle
  handle.close()
  return undefined
}

/**
 * Would Node's own, unshared listen() find this address free at this moment? A bind without SO_REUSEPORT is refused
 * (EADDRINUSE) by any listening socket on an overlapping address, shared or not, as well as for a missing right.
 */
export function addressIsFree(at: ListenAddress): boolean {
  const probe = bindSocket({ ...at, flags: at.flags & ~REUSE_PORT })
  probe?.close()
  return probe !== undefined
}

let supported: boolean | undefined

/**
 * Does SO_REUSEPORT balance connections here? libuv knows (Linux 3.9, FreeBSD 12, DragonFly, Solaris 11.4, AIX 7.2.5
 * yes; macOS and Windows no) and refuses the flag with ENOTSUP elsewhere, so it is asked instead of a table of ours.
 */
export function canShareAddresses(): boolean {
  supported ??= canBindShared()
  return supported
}

function canBindShared(): boolean {
  const socket = bindSocket({ address: '127.0.0.1', port: 0, addressType: 4, flags: REUSE_PORT })
  socket?.close()
  return socket !== undefined
}

/**
 * A mutex between processes (and threads) that are about to ask {@link addressIsFree} and then bind a shared socket:
 * without it two that start in the same microseconds both hear "free" and split the traffic. On Linux the name of an
 * abstract Unix socket is such a mutex: exclusive, scoped to the network namespace as ports are, and gone with the
 * process that held it. Elsewhere there is none, and that window stays open.
 *
 * @returns the release function, or undefined when somebody else holds it now.
 */
export function claimPort(port: number): (() => void) | undefined {
  if (process.platform !== 'linux') return () => undefined
  const handle = createServerHandle?.(`\0meltproof-lanes-${port}`, -1, -1, undefined, 0)
  if (typeof handle !== 'object') return undefined
  return () => handle.close()
}
