/** Hashes paths, the routes or parents of paths, and other texts. Pure. */

/** What determines a request's kind: its URL, or, to save memory, the hash of a name ({@link PathHash.keyOf}). */
export type KindKey = string | number

export class PathHash {
  /** Hash of the path without its query and letter case. All segments that contain a digit count as the same one. */
  path = 0
  /**
   * Hash of the route, without its ids ({@link learn}), or of the path without its last segment if the route is
   * unknown. 0 for a path with only one segment, and for a name.
   */
  under = 0
  readonly #salt: number
  readonly #ids = new Set<number>()

  /** @param salt differs between processes, so that clients cannot find paths with equal hashes */
  constructor(salt: number = (Math.random() * 2 ** 32) | 0) {
    this.#salt = salt
  }

  /** The key of a name: letter case and digits count, characters after the first {@link LONGEST} do not. */
  keyOf(name: string): number {
    return hashOf(name, this.#salt)
  }

  read(key: KindKey): this {
    if (typeof key === 'number') {
      this.path = key
      this.under = 0
      return this
    }
    const length = Math.min(key.length, LONGEST)
    let hash = this.#salt
    let routed = hash
    let before = hash
    let depth = 0
    let segment = this.#salt
    let isEmpty = true
    let isId = false
    for (let i = 0; i <= length; i++) {
      let code = i === length ? QUESTION_MARK : key.charCodeAt(i)
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

  /** Learns which segments are ids from a framework's route, such as `/users/:name/orders`. */
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
const MOST_IDS = 64
const SLASH = 47
const QUESTION_MARK = 63
const ZERO = 48
const NINE = 57
const A = 65
const Z = 90
const TO_LOWER_CASE = 32
const ID = 1
const ANY = 2

/** The prime of FNV-1a; the salt replaces its offset basis. */
const PRIME = 0x01000193

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
