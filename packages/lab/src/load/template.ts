/** Fields such as `{{seq}}` in a URL, a header or a body get a new value for each request, by its number. Pure. */
import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'

/** Values that a journey extracted from earlier answers, by name. */
export type Extracted = Readonly<Record<string, string>>
type Value = (number: number, nowMs: number, extracted: Extracted) => string

interface Kind {
  /** An example with arguments, as a user may write it. */
  readonly example: string
  readonly arguments: number
  readonly make: (numbers: readonly number[], random: () => number) => Value
}

const NINE = 9

/** All values have the same length, so they also sort and compare as text. */
const amongSenders =
  (of: (number: number, senders: number) => number): Kind['make'] =>
  ([senders]) => {
    if (senders! < 1) throw new RangeError('senders must be at least 1, got 0')
    return number => String(of(number, senders!)).padStart(NINE, '0')
  }

const KINDS: Readonly<Record<string, Kind>> = {
  seq: { example: '{{seq}}', arguments: 0, make: () => number => String(number) },
  random: {
    example: '{{random 1 100}}',
    arguments: 2,
    make: ([least, most], random) => {
      if (least! > most!) throw new RangeError(`{{random ${least} ${most}}}: the first number must be the smaller one`)
      return () => String(least! + Math.floor(random() * (most! - least! + 1)))
    },
  },
  uuid: { example: '{{uuid}}', arguments: 0, make: () => () => randomUUID() },
  timestamp: { example: '{{timestamp}}', arguments: 0, make: () => (_, nowMs) => String(nowMs) },
  word: { example: '{{word}}', arguments: 0, make: () => wordOf },
  sender: { example: '{{sender 50}}', arguments: 1, make: amongSenders((number, senders) => number % senders) },
  turn: { example: '{{turn 50}}', arguments: 1, make: amongSenders((number, senders) => Math.floor(number / senders)) },
}

/** A parsed URL has encoded braces and spaces. `\{{` stands for a literal `{{`. */
const FIELD = /\\\{\{|(?:\{\{|%7B%7B)(.*?)(?:\}\}|%7D%7D)/gis

/** A constant string, or a function that makes a string for each request. */
export type Template = string | Value

/** One character per byte. */
const bytesOf = (value: string): string => Buffer.from(value).toString('latin1')

/** `names`: values from earlier answers, which `encode` escapes. @throws RangeError that names the known fields */
export const templateOf = (
  text: string,
  random: () => number,
  names: readonly string[] = [],
  encode: (value: string) => string = bytesOf,
): Template => {
  const valueFor = (field: string): Value => {
    const [name = '', ...given] = field.replaceAll('%20', ' ').trim().split(/\s+/)
    if (names.includes(name) && given.length === 0) return (_, __, extracted) => encode(extracted[name]!)
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined
    const wellFormed = kind?.arguments === given.length && given.every(each => /^\d{1,15}$/.test(each))
    if (kind === undefined || !wellFormed) {
      const known = [...names.map(each => `{{${each}}}`), ...Object.values(KINDS).map(({ example }) => example)]
      throw new RangeError(`{{${field}}} is not one of ${known.join(', ')}; \\{{ is a literal {{`)
    }
    return kind.make(given.map(Number), random)
  }
  const parts: Template[] = []
  let at = 0
  for (const match of text.matchAll(FIELD)) {
    parts.push(text.slice(at, match.index))
    parts.push(match[1] === undefined ? '{{' : valueFor(match[1]))
    at = match.index + match[0].length
  }
  parts.push(text.slice(at))
  if (parts.every(part => typeof part === 'string')) return parts.join('')
  return (number, nowMs, extracted) => {
    let made = ''
    for (const part of parts) made += typeof part === 'string' ? part : part(number, nowMs, extracted)
    return made
  }
}

/** Names that a journey may not use for its own values. */
export const FIELD_NAMES: readonly string[] = Object.keys(KINDS)

export const hasFields = (text: string): boolean => [...text.matchAll(FIELD)].some(match => match[1] !== undefined)

/** Replaces the fields of a URL by plain words, so that it can be parsed; `restore` undoes this. */
export const hideFields = (url: string): { readonly hidden: string; restore(text: string): string } => {
  const found: string[] = []
  const hidden = url.replace(FIELD, field => `meltlabfield${found.push(field) - 1}x`)
  return { hidden, restore: text => text.replace(/meltlabfield(\d+)x/g, (word, at) => found[Number(at)] ?? word) }
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
/** Coprime to the number of words, so that no two requests share a word; about 0.618 times the number of words. */
const SPREAD = 3_355_617_900_001n
const ALL_WORDS = BigInt(LETTERS.length) ** BigInt(NINE)

/** Nine letters: a different word for each request, spread as if random. */
const wordOf = (number: number): string => {
  let left = (BigInt(number) * SPREAD) % ALL_WORDS
  let word = ''
  for (let at = 0; at < NINE; at++) {
    word += LETTERS[Number(left % 26n)]
    left /= 26n
  }
  return word
}
