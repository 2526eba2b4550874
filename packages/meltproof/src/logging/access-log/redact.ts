/**
 * Takes the secrets out of a request target or a referer: what parameters of secret names carry, and user names and
 * passwords before a host. Pure. It reads the text once, and each encoded value at most {@link MOST_DECODINGS} times
 * more, whatever the client sent.
 */
import { percentDecoded } from './percent.ts'

export const REDACTED = '[redacted]'

/** A URL in a URL in a URL in a URL. */
const MOST_DECODINGS = 3

/** What must be in a value for something secret to be encoded in it: `=` or `@`, plain or however often encoded. */
const MAY_HIDE = /[=@]|%(?:25)*(?:3d|40)/i

const ENCODED_EQUALS = /%(?:25)*3d/i

const AND = 0x26
const EQUALS = 0x3d
const PERCENT = 0x25
const QUESTION = 0x3f
const HASH = 0x23
const SEMICOLON = 0x3b

/** Whether a parameter of this name carries a secret (secret-names.ts). */
export type IsSecret = (rawName: string) => boolean

export function redactTarget(target: string, isSecret: IsSecret): string {
  const text = target.includes('@') ? withoutUsers(target) : target
  const query = text.indexOf('?')
  const fragment = text.indexOf('#')
  if (query === -1 && fragment === -1) return text
  const from = query === -1 || (fragment !== -1 && fragment < query) ? fragment : query
  return withoutSecrets(text, from + 1, isSecret, true)
}

/**
 * The values of secret parameters from `from` on, gone up to the next `&`. A name may begin wherever somebody may see
 * one begin: after `;`, which few split at, and after `?`, `#` and `=`, for a URL or a query as a value.
 * @param decode whether values are looked into for what is encoded in them
 */
function withoutSecrets(text: string, from: number, isSecret: IsSecret, decode: boolean): string {
  let shown = ''
  let copied = 0
  let nameFrom = from
  let valueFrom = from
  let hasEquals = false
  let encoded = false
  for (let i = from; i <= text.length; i++) {
    const code = i === text.length ? AND : text.charCodeAt(i)
    if (code === EQUALS) {
      const name = text.slice(nameFrom, i)
      // A pair of its own is encoded in what stands before `=`: for hidesSecret(), with all around it.
      const isPair = encoded && ENCODED_EQUALS.test(name)
      if (!isPair && i > nameFrom && isSecret(name)) {
        const and = text.indexOf('&', i)
        shown += text.slice(copied, i + 1) + REDACTED
        copied = and === -1 ? text.length : and
        i = copied
        nameFrom = valueFrom = i + 1
        hasEquals = encoded = false
        continue
      }
      nameFrom = i + 1
      if (!hasEquals && !isPair) valueFrom = i + 1
      hasEquals = true
    } else if (code === AND) {
      if (encoded && hidesSecret(text.slice(valueFrom, i), isSecret)) {
        shown += text.slice(copied, valueFrom) + REDACTED
        copied = i
      }
      nameFrom = valueFrom = i + 1
      hasEquals = encoded = false
    } else if (code === PERCENT) encoded = decode
    else if (code === SEMICOLON || code === QUESTION || code === HASH) nameFrom = i + 1
  }
  return copied === 0 ? text : shown + text.slice(copied)
}

/** Whether a value is a URL or a query, encoded, with something secret in it. */
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
 * `//user:password@host` without the user: at the beginning, after a scheme, and as a value. A password may hold an
 * `@`, so that the last one before the path counts, and an `&` where no parameter can begin.
 */
function withoutUsers(text: string): string {
  let shown = ''
  let copied = 0
  let query = text.indexOf('?')
  if (query === -1) query = text.length
  for (let slashes = text.indexOf('//'); slashes !== -1; ) {
    const before = text[slashes - 1]
    let from = slashes + 2
    while (text[from] === '/') from++
    const isHost = before === undefined || before === ':' || before === '='
    let end = from
    let at = -1
    for (; isHost && end < text.length; end++) {
      const character = text[end]
      if (character === '@') at = end
      else if (character === '/' || character === '?' || character === '#') break
      else if (character === '&' && end > query) break
    }
    if (at !== -1) {
      shown += text.slice(copied, from) + REDACTED
      copied = at
    }
    slashes = text.indexOf('//', end)
  }
  return copied === 0 ? text : shown + text.slice(copied)
}
