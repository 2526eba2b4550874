import { readFileSync } from 'node:fs'

/**
 * How many connections the kernel has not queued because a listener accepted too slowly: ListenOverflows and SYN cookies
 * in /proc/net/netstat. Each of them believes for a second that it is connected, and may be reset then without the
 * server having seen it. Always 0 where there is no such file.
 */
export function listenOverflows(): number {
  let text: string
  try {
    text = readFileSync('/proc/net/netstat', 'latin1')
  } catch {
    return 0
  }
  const [names = [], values = []] = text.split('\n', 2).map(line => line.split(' '))
  const of = (name: string): number => Number(values[names.indexOf(name)] ?? 0)
  return of('ListenOverflows') + of('TCPReqQFullDoCookies')
}
