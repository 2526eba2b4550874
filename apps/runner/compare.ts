/**
 * Compares two answers, except for legitimate differences from run to run: the date, the connection, the address of the
 * app, and the ids and times that the app generates. Pure except for Buffer, zlib and a hash.
 */
import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Answer } from './asking.ts'

/** Headers about the time and the connection, not about the answer. */
const IGNORED_HEADERS = new Set(['date', 'connection', 'keep-alive'])
/** Headers that follow from the body. They may differ where the body may. */
const BODY_HEADERS = new Set(['content-length', 'etag', 'last-modified'])

const USUAL: readonly RegExp[] = [
  /\b\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?/g,
  /\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  /\bX-RateLimit-Reset: \d+/gi,
]

export interface Scrub {
  readonly port: number
  /** Values of this run, such as tokens. */
  readonly kept: readonly string[]
  readonly volatile: readonly RegExp[]
}

export interface Comparable {
  readonly status: number
  /** `name: value`, sorted by name, because the order of headers has no meaning. */
  readonly headers: readonly string[]
  readonly body: string
}

/** Replaces the parts of a text that differ from run to run. */
export function scrubbed(text: string, { port, kept, volatile }: Scrub): string {
  let plain = text.replaceAll(`:${port}`, ':PORT')
  for (const value of kept) if (value !== '') plain = plain.replaceAll(value, 'KEPT')
  for (const pattern of [...volatile, ...USUAL]) {
    plain = plain.replace(new RegExp(pattern, pattern.flags.replace('g', '').concat('g')), '*')
  }
  return plain
}

export function comparable(answer: Answer, scrub: Scrub): Comparable {
  const text = textOf(answer)
  const plain = text === undefined ? undefined : scrubbed(text, scrub)
  const headers = answer.headers
    .filter(([name]) => !IGNORED_HEADERS.has(name.toLowerCase()))
    .filter(([name]) => plain === text || !BODY_HEADERS.has(name.toLowerCase()))
    .map(([name, value]) => scrubbed(`${name}: ${value}`, scrub))
    .sort()
  const body = plain ?? `${answer.body.length} bytes, sha256 ${createHash('sha256').update(answer.body).digest('hex')}`
  return { status: answer.status, headers, body }
}

/** The decompressed body as text; undefined when it is not text. */
function textOf({ headers, body }: Answer): string | undefined {
  const encoding = headers.find(([name]) => name.toLowerCase() === 'content-encoding')?.[1]
  const plain = encoding === 'gzip' ? gunzipSync(body) : encoding === 'br' ? brotliDecompressSync(body) : body
  return isUtf8(plain) ? plain.toString() : undefined
}

/** The differences, as text; empty when the answers are the same. */
export function differences(bare: Comparable, other: Comparable): string[] {
  const found: string[] = []
  if (bare.status !== other.status) found.push(`status ${other.status} instead of ${bare.status}`)
  const missing = bare.headers.filter(header => !other.headers.includes(header))
  const added = other.headers.filter(header => !bare.headers.includes(header))
  if (missing.length > 0) found.push(`without ${missing.join(', ')}`)
  if (added.length > 0) found.push(`with ${added.join(', ')}`)
  if (bare.headers.length !== other.headers.length && found.length === 0)
    found.push('a header more often or less often')
  if (bare.body !== other.body) found.push(bodies(bare.body, other.body))
  return found
}

/** Number of characters to show at the first difference of two bodies. */
const SHOWN = 80

function bodies(bare: string, other: string): string {
  let at = 0
  while (at < bare.length && bare[at] === other[at]) at++
  const from = Math.max(0, at - 20)
  const show = (text: string): string => JSON.stringify(text.slice(from, from + SHOWN))
  return `the body differs from character ${at}: ${show(other)} instead of ${show(bare)}`
}
