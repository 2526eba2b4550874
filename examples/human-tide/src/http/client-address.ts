/**
 * Turns the address of a client into the text by which live-route.ts counts its viewers. Behind proxies, Express's
 * `request.ip` is the address that the outermost proxy saw (`PROXIES`, tide.ts).
 */
import { isIPv6 } from 'node:net'

/**
 * One text per client: an IPv4 address, also if it is written as IPv6, or the first 64 bits of an IPv6 address, because
 * one subscriber has at least a /64.
 */
export function clientOf(ip: string | undefined): string {
  const address = (ip ?? '').replace(/%.*$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  const [front = '', back] = address.toLowerCase().split('::')
  const groups = front === '' ? [] : front.split(':')
  // "::" stands for the missing groups of zeros; an IPv4 address at the end takes the place of two groups.
  const behind = back === undefined || back === '' ? [] : back.replace(/[\d.]+\.[\d.]+$/, '0:0').split(':')
  const zeros = back === undefined ? [] : Array<string>(8 - groups.length - behind.length).fill('0')
  const subnet = [...groups, ...zeros, ...behind].slice(0, 4).map(group => Number.parseInt(group, 16).toString(16))
  return `${subnet.join(':')}::/64`
}
