/** Opens raw listening sockets (`net._createServerHandle`), and probes whether a port may be shared. */
import net from 'node:net'

export interface ListenHandle {
  onconnection?: ((this: ListenHandle, status: number, client: unknown) => void) | undefined
  listen(backlog: number): number
  close(callback?: () => void): void
  ref(): void
  unref(): void
  hasRef(): boolean
  getsockname(out: { address?: string; port?: number; family?: string }): number
}

export interface ListenAddress {
  /** An IP literal; null means the unspecified address: `::`, or `0.0.0.0` where there is no IPv6. */
  readonly address: string | null
  readonly port: number
  readonly addressType: number
  readonly flags: number
}

type CreateServerHandle = (...args: readonly unknown[]) => ListenHandle | number
const createServerHandle = (net as unknown as { _createServerHandle?: CreateServerHandle })._createServerHandle

/** UV_TCP_REUSEPORT of libuv's stable ABI, which Node does not export. */
export const REUSE_PORT = 2

export const DEFAULT_BACKLOG = 511

export function bindSocket(at: ListenAddress): ListenHandle | undefined {
  const handle = createServerHandle?.(at.address, at.port, at.addressType, undefined, at.flags)
  if (typeof handle !== 'object') return undefined
  // libuv reports EADDRINUSE only at listen(), or when the socket's name is read. Reading it accepts no connection.
  if (handle.getsockname({}) === 0) return handle
  handle.close()
  return undefined
}

export function canBind(at: ListenAddress): boolean {
  const probe = bindSocket(at)
  probe?.close()
  return probe !== undefined
}

/** True if SO_REUSEPORT balances connections here. Where it does not (macOS, Windows), libuv refuses the flag. */
export function canShareAddresses(): boolean {
  return canBind({ address: '127.0.0.1', port: 0, addressType: 4, flags: REUSE_PORT })
}

/**
 * Without a mutex two processes that start in the same microseconds both find the port free and split the traffic. On
 * Linux the name of an abstract Unix socket is such a mutex: exclusive, scoped to the network namespace, and released
 * when the process ends.
 * @returns a function that releases the mutex, or undefined while another process holds it
 */
export function claimPort(port: number): (() => void) | undefined {
  if (process.platform !== 'linux') return () => undefined
  const handle = createServerHandle?.(`\0meltproof-lanes-${port}`, -1, -1, undefined, 0)
  if (typeof handle !== 'object') return undefined
  return () => handle.close()
}
