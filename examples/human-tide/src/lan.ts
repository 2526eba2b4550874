/** The address under which phones of the same network find this computer. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

type Interfaces = NodeJS.Dict<readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>

/** Bridges to containers and virtual machines, and tunnels of VPNs: no phone of the local network is there. */
const VIRTUAL = /^(docker|br-|veth|virbr|vmnet|vboxnet|utun|tun|tap|zt|tailscale|wg)/

/** Address ranges that routers at home, in offices and on phones assign (RFC 1918), the most likely first. */
const HOME = [/^192\.168\./, /^10\./, /^172\.(1[6-9]|2\d|3[01])\./]

/** Undefined without a network. Pure. */
export function lanAddressOf(interfaces: Interfaces): string | undefined {
  const rank = ([name, address]: readonly [string, string]): number => {
    const home = HOME.findIndex(range => range.test(address))
    return (VIRTUAL.test(name) ? 10 : 0) + (home === -1 ? HOME.length : home)
  }
  return Object.entries(interfaces)
    .flatMap(([name, addresses = []]) => addresses.map(each => ({ name, ...each })))
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ name, address }) => [name, address] as const)
    .sort((a, b) => rank(a) - rank(b))[0]?.[1]
}

/**
 * Whether a `Host` header is a local name of this computer. Pages of other names may have reached it by DNS rebinding.
 */
export const isLocalName = (host = ''): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i.test(host)

/** Whether a server that listens on `host` accepts connections from its network. */
export const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::'

export const lanAddress = (): string | undefined => lanAddressOf(networkInterfaces())

/** Whether this address belongs to this computer, whose browsers may do more than guests. */
export function isThisComputer(address: string | undefined, interfaces: Interfaces = networkInterfaces()): boolean {
  const plain = (address ?? '').replace(/^::ffff:/i, '').replace(/%.*$/, '')
  return Object.values(interfaces).some(each => each?.some(({ address: ours }) => ours === plain))
}
