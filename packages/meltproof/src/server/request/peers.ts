import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { invalidOption } from '../../options.ts'

export type OfPeer = Pick<IncomingMessage, 'socket'>

/** Returns true if the option names the peer of the request. The connection's address decides, not a header field. */
export type FromPeer = (request: OfPeer) => boolean

const EXPECTED = 'true, false, or a list of addresses and networks such as 10.0.0.0/8'

/** Returns undefined for no peers. @throws MeltproofError for an invalid value */
export function checkPeers(option: string, value: unknown): FromPeer | undefined {
  if (value === undefined || value === false) return undefined
  if (value === true) return () => true
  if (!Array.isArray(value)) invalidOption(option, EXPECTED, value)
  if (value.length === 0) {
    invalidOption(option, `${EXPECTED}; an empty list trusts no address, for which the value is false`, value)
  }
  const peers = new BlockList()
  for (const [index, entry] of value.entries()) allow(peers, `${option}[${index}]`, entry)
  return request => {
    const remoteAddress = addressOf(request)
    if (remoteAddress === undefined) return false
    // A dual-stack socket reports an IPv4 client as ::ffff:10.0.0.1.
    // A link-local address names its interface: fe80::1%eth0.
    const mapped = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
    const address = mapped.split('%', 1)[0]!
    return peers.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
}

/** Returns undefined if the client has left: the socket of an HTTP/2 session that has ended throws. */
export function addressOf({ socket }: OfPeer): string | undefined {
  try {
    return socket.remoteAddress
  } catch {
    return undefined
  }
}

function allow(peers: BlockList, name: string, entry: unknown): void {
  const [address = '', bits, ...rest] = typeof entry === 'string' ? entry.split('/') : []
  const version = isIP(address)
  const most = version === 6 ? 128 : 32
  const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (version === 0 || rest.length > 0 || !(prefix <= most)) {
    invalidOption(name, 'an IP address or a network such as 10.0.0.0/8', entry)
  }
  peers.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4')
}
