/** A path as numbers: its own, and that of whatever lies beside it; and any other text. Pure. */

export class PathHash {
  /** Of the path without its query. Letter case makes no difference, nor does which id a segment with a digit in it is. */
  path = 0
  /**
   * The same with anything where a framework has an id ({@link learn}); where it has none, with any last segment, as
   * `/users/anybody`. 0 for a path of one segment.
   */
  under = 0
  readonly #salt: number
  /** What stands before an id. */
  readonly #ids = new Set<number>()

  /** @param salt another one in each process, so that nobody outside knows which paths meet */
  constructor(salt: number = (Math.random() * 2 ** 32) | 0) {
    this.#salt = salt
  }

  /** Looks at no more than the first {@link LONGEST} characters. */
  read(url: string): this {
    const length = Math.min(url.length, LONGEST)
    let hash = this.#salt
    let routed = hash
    let before = hash
    let depth = 0
    let segment = this.#salt
    let isEmpty = true
    let isId = false
    for (let i = 0; i <= length; i++) {
      let code = i === length ? QUESTION_MARK : url.charCodeAt(i)
      if (code === SLASH || code === QUESTION_MARK) {
        if (!isEmpty) {
          if (isId) segment = ID
          before = hash
          routed = mix(routed, this.#ids.size > 0 && this.#ids.has(routed) ? ID : segment)
          hash = mix(hash, segment)
          depth++
          segment = this.#salt
          isEmpty = true
          isId = false
        }
        if (code === QUESTION_MARK) break
      } else {
        isEmpty = false
        if (code >= ZERO && code <= NINE) isId = true
        else if (code >= A && code <= Z) code += TO_LOWER_CASE
        segment = Math.imul(segment ^ code, PRIME)
      }
    }
    this.path = spread(hash)
    if (routed !== hash) this.under = spread(routed)
    else this.under = depth < 2 ? 0 : mix(before, ANY)
    return this
  }

  /** A framework says of which route a path is: `/users/:name/orders`. */
  learn(url: string, route: string): void {
    const path = url.split('?', 1)[0]!
    const texts = path.split('/').filter(Boolean)
    const names = route.split('/').filter(Boolean)
    if (names.length !== texts.length || path.length > LONGEST) return
    let routed = this.#salt
    for (const [i, name] of names.entries()) {
      if (name.startsWith(':') && this.#ids.size < MOST_IDS) this.#ids.add(routed)
      routed = mix(routed, this.#ids.has(routed) ? ID : segmentOf(texts[i]!, this.#salt))
    }
  }
}

/** As {@link PathHash.read} has it. */
function segmentOf(text: string, salt: number): number {
  let segment = salt
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i)
    if (code >= ZERO && code <= NINE) return ID
    if (code >= A && code <= Z) code += TO_LOWER_CASE
    segment = Math.imul(segment ^ code, PRIME)
  }
  return segment
}

const LONGEST = 128
/** Places of ids that are remembered. */
const MOST_IDS = 64
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

function spread(hash: number): number {
  return hash ^ (hash >>> 15)
}
