/**
 * Redacts secret parameters and `user:password@` in a request target or referer, and masks addresses. Pure, in linear
 * time.
 */
import { type IsSecret, percentDecoded } from './secret-names.ts'

const REDACTED = '[redacted]'

const MOST_DECODINGS = 3

/** A value can contain an encoded secret only if it has `=` or `@`, plain or encoded any number of times. */
const MAY_HIDE = /[=@]|%(?:25)*(?:3d|40)/i
const ENCODED_EQUALS = /%(?:25)*3d/i

/** `//user:password@host` at the beginning, after a scheme, or in a value. A password may contain an `@`. */
const USER_IN_PATH = /((?:^|[:=])\/{2,})[^/?#]*@/g
const USER_IN_QUERY = /([:=]\/{2,})[^/?#&]*@/g

export function redactTarget(target: string, isSecret: IsSecret): string {
  const text = withoutUsers(target)
  const query = text.indexOf('?')
  const fragment = text.indexOf('#')
  const from = query === -1 || (fragment !== -1 && fragment < query) ? fragment : query
  return from === -1 ? text : withoutSecrets(text, from + 1, isSecret, true)
}

function withoutUsers(text: string): string {
  if (!text.includes('@')) return text
  const [path] = text.split('?', 1) as [string]
  const query = text.slice(path.length)
  return path.replace(USER_IN_PATH, `$1${REDACTED}@`) + query.replace(USER_IN_QUERY, `$1${REDACTED}@`)
}

/** Redacts the secret parameters from `from` on. With `decode`, also finds parameters that are encoded in values. */
function withoutSecrets(text: string, from: number, isSecret: IsSecret, decode: boolean): string {
  let shown = ''
  let copied = 0
  for (let start = from, end = from; start <= text.length; start = end + 1) {
    end = text.indexOf('&', start)
    if (end === -1) end = text.length
    const secretAt = findSecret(text, start, end, isSecret, decode)
    if (secretAt === undefined) continue
    shown += text.slice(copied, secretAt) + REDACTED
    copied = end
  }
  return copied === 0 ? text : shown + text.slice(copied)
}

/** Returns where a secret begins. Its name may also follow `;`, `?`, `#` or `=`, because a value may be a URL. */
function findSecret(text: string, start: number, end: number, isSecret: IsSecret, decode: boolean): number | undefined {
  let nameFrom = start
  let valueFrom: number | undefined
  let encoded = false
  for (let i = start; i < end; i++) {
    const character = text[i]
    if (character === '=') {
      const name = text.slice(nameFrom, i)
      // An encoded name that contains `=` may be a pair itself: then all of it counts as a value.
      const isPair = encoded && ENCODED_EQUALS.test(name)
      if (name !== '' && !isPair && isSecret(name)) return i + 1
      valueFrom ??= isPair ? start : i + 1
      nameFrom = i + 1
    } else if (character === '%') encoded = decode
    else if (character === ';' || character === '?' || character === '#') nameFrom = i + 1
  }
  valueFrom ??= start
  return encoded && hidesSecret(text.slice(valueFrom, end), isSecret) ? valueFrom : undefined
}

function hidesSecret(value: string, isSecret: IsSecret): boolean {
  if (!MAY_HIDE.test(value)) return false
  let text = value
  for (let i = 0; i < MOST_DECODINGS; i++) {
    const decoded = percentDecoded(text)
    if (decoded === text) return false
    if (withoutSecrets(decoded, 0, isSecret, false) !== decoded || withoutUsers(decoded) !== decoded) return true
    text = decoded
  }
  return false
}

/**
 * Removes the part of an address that identifies a single client: reduces IPv4 to its /24 and IPv6 to its /48. An
 * IPv4-mapped IPv6 address counts as IPv4.
 */
export function maskedAddress(full: string): string {
  const four = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(full)
  if (four !== null) return `${four[1]}.0`
  // `::` stands for the missing zero groups, up to eight.
  const [head = '', tail = ''] = full.split('%')[0]!.split('::')
  const [first, last] = [head, tail].map(groups => groups.split(':').filter(group => group !== ''))
  const zeros = Array.from({ length: 8 - first!.length - last!.length }, () => '0')
  return `${[...first!, ...zeros, ...last!].slice(0, 3).join(':')}::`
}
