import { readFileSync } from 'node:fs'

/**
 * How many connections the kernel has not queued because a listener accepted too slowly: ListenOverflows and SYN cookies
 * in /proc/net/netstat. Each of them believes for a second that it is connected, and may be reset then without the
 * server having seen it. Always 0 where there is no such file.
 */
export function listenOverflows(): number {
  const text = readNetwork('netstat')
  if (text === undefined) return 0
  const [names = [], values = []] = text.split('\n', 2).map(line => line.split(' '))
  const of = (name: string): number => Number(values[names.indexOf(name)] ?? 0)
  return of('ListenOverflows') + of('TCPReqQFullDoCookies')
}

/**
 * Whether the server has accepted this connection: the kernel lists the server's end of it, with the inode of a file.
 * Undefined where there is no such list, and for a connection without a port.
 */
export function isAccepted(serverPort: number, clientPort: number | undefined): boolean | undefined {
  const text = clientPort === undefined ? undefined : readNetwork('tcp')
  if (text === undefined) return undefined
  for (const line of text.split('\n')) {
    const [, local, remote, , , , , , , inode] = line.trim().split(/\s+/)
    if (portOf(local) === serverPort && portOf(remote) === clientPort) return inode !== '0'
  }
  return false
}

/** Undefined where Linux's /proc is missing. */
function readNetwork(table: 'netstat' | 'tcp'): string | undefined {
  try {
    return readFileSync(`/proc/net/${table}`, 'latin1')
  } catch {
    return undefined
  }
}

function portOf(address = ''): number {
  return Number.parseInt(address.slice(address.indexOf(':') + 1), 16)
}
