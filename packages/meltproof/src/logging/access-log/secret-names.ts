/**
 * Which query parameters carry secrets, by their names. Pure; linear in a name's length. A name is read as frameworks read it: percent-decoded, and in segments (`user[password]`, `auth.token`, `token[]`).
 * Case, `-`, `_` and digits at the end make no difference. docs/access-log.md lists these names: keep it true.
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
const WORD = new RegExp(`[^a-z](?:${WORDS.join('|')})$`, 'i')
/** `userPass` and `userPASS`, not `COMPASS`. */
const CAMEL_WORD = new RegExp(
  `(?:${WORDS.map(word => word[0]!.toUpperCase() + word.slice(1)).join('|')}` +
    `|[a-z0-9](?:${WORDS.map(word => word.toUpperCase()).join('|')}))$`,
)

const PLAIN = /^[a-z]+$/
const BETWEEN_SEGMENTS = /[.[\]/?;#:,{}()"'<>|\\]+/
const NO_LETTERS = /[^a-z0-9\u0080-\uffff]+/g

/** Tells whether a parameter of this name, as it stands in a URL, carries a secret; one of the `added` names does. */
export function secretNames(added: readonly string[]): (rawName: string) => boolean {
  const addedNames: ReadonlySet<string> = new Set(added.map(folded))
  const isSecretPart = (part: string): boolean => WHOLE.has(part) || ENDING.test(part)
  const isSecret = (text: string): boolean => {
    const name = folded(text)
    return addedNames.has(name) || isSecretPart(withoutDigits(name))
  }
  return rawName => {
    const name = percentDecoded(rawName)
    if (PLAIN.test(name)) return isSecretPart(name) || addedNames.has(name)
    // As a whole too: `api.key`, and an added `user.phone`.
    if (isSecret(name)) return true
    return name.split(BETWEEN_SEGMENTS).some(segment => isSecret(segment) || endsInWord(segment))
  }
}

function endsInWord(segment: string): boolean {
  const bare = withoutDigits(segment.trimEnd())
  return WORD.test(bare) || CAMEL_WORD.test(bare)
}

/** `Access-Token` and `access_token` as `accesstoken`; a name without a letter is itself. */
function folded(text: string): string {
  const lower = text.toLowerCase()
  return lower.replace(NO_LETTERS, '') || lower
}

/** `password2` as `password`. A pattern such as /\d+$/ would look at every run of digits to its end. */
function withoutDigits(name: string): string {
  let end = name.length
  while (end > 0 && isDigit(name.charCodeAt(end - 1))) end--
  return name.slice(0, end)
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
