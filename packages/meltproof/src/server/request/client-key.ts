/** Identifies the client of a request, as the operator defines it. Only a hash is stored, no name and no address. */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hashOf } from '../../admission/fairness/path-hash.ts'
import { checkFieldName, checkNumber, invalidOption, rejectUnknown } from '../../options.ts'
import type { Warn } from '../../warnings.ts'
import { safely } from './operators-function.ts'
import { addressOf } from './peers.ts'

export type ClientKey =
  | 'address'
  | { readonly header: string; readonly proxies?: number }
  | ((request: IncomingMessage) => string | undefined)

export interface Clients {
  /** Reads the client from the head of a request; absent when a request object is needed. */
  readonly ofHead?: (address: string | undefined, rawHeaders: readonly string[]) => number
  readonly of: (request: IncomingMessage) => number
}

const EXPECTED = "'address', { header, proxies }, or a function of the request"
const MOST_PROXIES = 16

export function checkClientKey(key: unknown): ClientKey | undefined {
  if (key === undefined || key === 'address' || typeof key === 'function') return key as ClientKey | undefined
  if (typeof key !== 'object' || key === null || Array.isArray(key)) invalidOption('clientKey', EXPECTED, key)
  rejectUnknown('clientKey', key, ['header', 'proxies'])
  const { header, proxies = 1 } = key as { header?: unknown; proxies?: unknown }
  return {
    header: checkFieldName('clientKey.header', header),
    proxies: checkNumber('clientKey.proxies', proxies, { min: 1, max: MOST_PROXIES, whole: true }),
  }
}

/** @param salt random for each process, so that a client cannot choose a hash to collide with */
export function clientsBy(key: ClientKey, warn: Warn, salt: number = (Math.random() * 2 ** 32) | 0): Clients {
  // Requests without a key count as one client.
  const hash = (text: string | undefined): number => (text === undefined ? 0 : hashOf(text, salt))
  if (typeof key === 'function') {
    const ask = safely({
      name: 'clientKey',
      call: key,
      read: answer => (typeof answer === 'string' ? answer : undefined),
      expected: 'a string or undefined',
      otherwise: 'such requests count as requests of one client',
      warn,
    })
    return { of: request => hash(ask(request)) }
  }
  const { header, proxies = 1 } = key === 'address' ? { header: undefined } : key
  const name = header?.toLowerCase()
  const ofHead = (address: string | undefined, rawHeaders: readonly string[]): number => {
    const text = name === undefined ? address : entryOf(rawHeaders, name, proxies)
    return hash(text === undefined ? undefined : networkOf(text))
  }
  return { ofHead, of: request => ofHead(addressOf(request), request.rawHeaders) }
}

/** Returns the `proxies`-th entry from the end. Each proxy appends its client; clients can forge the entries before. */
function entryOf(rawHeaders: readonly string[], name: string, proxies: number): string | undefined {
  let left = proxies
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (rawHeaders[i]!.length !== name.length || rawHeaders[i]!.toLowerCase() !== name) continue
    const entries = rawHeaders[i + 1]!.split(',')
    if (entries.length >= left) return entries[entries.length - left]!.trim() || undefined
    left -= entries.length
  }
  return undefined
}

/** Removes the port that some proxies append. Keeps 64 bits of IPv6, because a client can use a whole /64. */
function networkOf(text: string): string {
  const address = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  if (isIP(address) !== 6) return address
  if (address.toLowerCase().startsWith('::ffff:') && address.includes('.')) return address.slice(7)
  const [first = '', rest] = address.toLowerCase().split('::', 2)
  const groups = first === '' ? [] : first.split(':')
  if (rest !== undefined) while (groups.length < 4) groups.push('0')
  return groups.slice(0, 4).join(':')
}
