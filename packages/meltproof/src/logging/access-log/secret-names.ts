/**
 * Which query parameters carry secrets, by their names. Pure; linear in a name's length. A name is read as frameworks
 * read it: percent-decoded, and in segments (`user[password]`, `auth.token`, `token[]`). Case, `-`, `_` and digits at the
 * end make no difference. docs/access-log.md lists these names: keep it true.
 */
import { percentDecoded } from './percent-decoded.ts'

/** Secret as a whole segment only: `zip_code`, `sort_key` and `requires_auth` are not. */
const SEGMENTS = ['assertion', 'auth', 'code', 'key', 'pin', 'samlresponse', 'session', 'sid']

/** Secret as the last word of a segment (`user_pass`, `loginOtp`), but not as the end of one (`compass`). */
const WORDS = ['authorization', 'cookie', 'csrf', 'cvc', 'cvv', 'jwt', 'otp', 'pass', 'pwd', 'sig', 'totp', 'xsrf']

/** Secret at the end of a segment, even where words are written together: `accesstoken`. No other word ends so. */
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

const PLAIN = /^[a-z]+$/
const BETWEEN_SEGMENTS = /[.[\]/?;#:,{}()"'<>|\\]+/
/** In `user_pass`, `userPass`, `userPASS` and `USERPass`. */
const BETWEEN_WORDS = /[^a-zA-Z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
const NO_LETTERS = /[^a-z0-9\u0080-\uffff]+/g
const LAST_DIGITS = /(?<!\d)\d+$/

/** Tells whether a parameter of this name, as it stands in a URL, carries a secret; one of the `added` names does. */
export function secretNames(added: readonly string[]): (rawName: string) => boolean {
  const addedNames: ReadonlySet<string> = new Set(added.map(folded))
  const isSecretPart = (part: string): boolean => WHOLE.has(part) || ENDING.test(part)
  const isSecret = (text: string): boolean => {
    const name = folded(text)
    return addedNames.has(name) || isSecretPart(name.replace(LAST_DIGITS, ''))
  }
  return rawName => {
    const name = percentDecoded(rawName)
    if (PLAIN.test(name)) return isSecretPart(name) || addedNames.has(name)
    // As a whole too: `api.key`, and an added `user.phone`.
    if (isSecret(name)) return true
    return name.split(BETWEEN_SEGMENTS).some(segment => isSecret(segment) || LAST_WORD.has(lastWord(segment)))
  }
}

function lastWord(segment: string): string {
  const words = segment.trimEnd().replace(LAST_DIGITS, '').split(BETWEEN_WORDS)
  return words.at(-1)!.toLowerCase()
}

/** `Access-Token` and `access_token` as `accesstoken`; a name without a letter is itself. */
function folded(text: string): string {
  const lower = text.toLowerCase()
  return lower.replace(NO_LETTERS, '') || lower
}
