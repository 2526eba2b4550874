/** A path as numbers: its own, and that of whatever lies beside it; and any other text. Pure. */

export class PathHash {
  /** Of the path without its query. Letter case makes no difference, nor does which id a segment with a digit in it is. */
  path = 0
  /** The same with any last segment: `/users/anybody`. 0 for paths of one segment. */
  under = 0
  readonly #salt: number

  /** @param salt another one in each process, so that nobody outside knows which paths meet */
  constructor(salt: number = (Math.random() * 2 ** 32) | 0) {
    this.#salt = salt
  }

  /** Looks at no more than the first {@link LONGEST} characters. */
  read(url: string): this {
    let hash = this.#salt
    let before = hash
    let depth = 0
    let segment = hash
    let isEmpty = true
    let isId = false
    const length = Math.min(url.length, LONGEST)
    for (let i = 0; i < length; i++) {
      let code = url.charCodeAt(i)
      if (code === QUESTION_MARK) break
      if (code === SLASH) {
        if (isEmpty) continue
        before = hash
        hash = mix(hash, isId ? ID : segment)
        depth++
        segment = hash
        isEmpty = true
        isId = false
      } else {
        isEmpty = false
        if (code >= ZERO && code <= NINE) isId = true
        else if (code >= A && code <= Z) code += TO_LOWER_CASE
        segment = Math.imul(segment ^ code, PRIME)
      }
    }
    if (!isEmpty) {
      before = hash
      hash = mix(hash, isId ? ID : segment)
      depth++
    }
    this.path = hash ^ (hash >>> 15)
    this.under = depth < 2 ? 0 : mix(before, ANY)
    return this
  }
}

const LONGEST = 128
const SLASH = 47
const QUESTION_MARK = 63
const ZERO = 48
const NINE = 57
const A = 65
const Z = 90
const TO_LOWER_CASE = 32
/** In place of a segment. */
const ID = 1
const ANY = 2

/** Of FNV-1a, which this is but for its start: the salt. */
const PRIME = 0x01000193

/** Salted as a path is; of any text. */
export function hashOf(text: string, salt: number): number {
  let hash = salt
  for (let i = 0; i < text.length && i < LONGEST; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  return mix(hash, ANY)
}

export function mix(hash: number, segment: number): number {
  const mixed = Math.imul(hash ^ segment, 0x9e3779b1)
  return mixed ^ (mixed >>> 13)
}
