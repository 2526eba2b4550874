/**
 * Recognises query parameters that carry secrets by their names. Pure; linear in the length of the name. A name is read
 * as frameworks read it: percent-decoded, and in segments (`user[password]`, `auth.token`, `token[]`). Case, `-`, `_`
 * and trailing digits are ignored. docs/access-log.md lists these names: keep it up to date.
 */

/** Names that are secret only as a whole segment: `zip_code`, `sort_key` and `requires_auth` are not. */
const SEGMENTS = ['assertion', 'auth', 'code', 'key', 'pin', 'samlresponse', 'session', 'sid']

/** Names that are secret as the last word of a segment (`user_pass`, `loginOtp`), not as last letters (`compass`). */
const WORDS = ['authorization', 'cookie', 'csrf', 'cvc', 'cvv', 'jwt', 'otp', 'pass', 'pwd', 'sig', 'totp', 'xsrf']

/** Names that are secret at the end of a segment without a word boundary (`accesstoken`): no other word ends so. */
const ENDINGS = [
  'token(?:hint)?',
  'secret',
  'password(?:confirm(?:ation)?)?',
  'pass(?:wd|phrase|code)',
  'signature',
  'credentials?',
  'sess(?:ion)?id',
  '(?:auth|authorization|verification)code',
  'codeverifier',
  'oauthverifier',
  'clientassertion',
  '(?:api|access|auth|encryption|master|private|secret|session|shared|signing|subscription)key',
]

const WHOLE: ReadonlySet<string> = new Set([...SEGMENTS, ...WORDS])
const ENDING = new RegExp(`(?:${ENDINGS.join('|')})$`)
const LAST_WORD: ReadonlySet<string> = new Set(WORDS)

export type IsSecret = (rawName: string) => boolean

const PLAIN = /^[a-z]+$/
const BETWEEN_SEGMENTS = /[.[\]/?;#:,{}()"'<>|\\]+/
/** Splits `user_pass`, `userPass`, `userPASS` and `USERPass`. */
const BETWEEN_WORDS = /[^a-zA-Z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
const NO_LETTERS = /[^a-z0-9\u0080-\uffff]+/g
const LAST_DIGITS = /(?<!\d)\d+$/

/** Returns a function that returns true if a parameter with this name carries a secret; `added` names always do. */
export function secretNames(added: readonly string[]): IsSecret {
  const addedNames: ReadonlySet<string> = new Set(added.map(folded))
  const isSecretPart = (part: string): boolean => WHOLE.has(part) || ENDING.test(part)
  const isSecret = (text: string): boolean => {
    const name = folded(text)
    return addedNames.has(name) || isSecretPart(name.replace(LAST_DIGITS, ''))
  }
  return rawName => {
    const name = percentDecoded(rawName)
    if (PLAIN.test(name)) return isSecretPart(name) || addedNames.has(name)
    // The whole name is checked too: `api.key`, or an added `user.phone`.
    if (isSecret(name)) return true
    return name.split(BETWEEN_SEGMENTS).some(segment => isSecret(segment) || LAST_WORD.has(lastWord(segment)))
  }
}

function lastWord(segment: string): string {
  const words = segment.trimEnd().replace(LAST_DIGITS, '').split(BETWEEN_WORDS)
  return words.at(-1)!.toLowerCase()
}

/** `Access-Token` and `access_token` become `accesstoken`; a name without letters stays. */
function folded(text: string): string {
  const lower = text.toLowerCase()
  return lower.replace(NO_LETTERS, '') || lower
}

/** An encoded ASCII character, or a run of other encoded bytes, which form UTF-8 only together. */
const ENCODED = /%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+/gi

/** Percent-decoding that never throws: invalid encodings stay as they are. In one pass. */
export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  return text.replace(ENCODED, run => {
    const code = Number.parseInt(run.slice(1), 16)
    return code < 0x80 ? String.fromCharCode(code) : Buffer.from(run.replaceAll('%', ''), 'hex').toString()
  })
}
