/** Parses a journey from JSON: its steps, and values that later steps take from earlier answers. Pure. */
import { nearestName } from '../nearest-name.ts'
import { parseDuration } from '../durations.ts'
import type { Extraction, Journey, LoadTarget, RequestHeaders } from '../load/plan.ts'
import { requestOf } from '../load/prepare.ts'
import { FIELD_NAMES } from '../load/template.ts'
import { knownMethod } from '../option-values.ts'
import { UserError } from '../user-error.ts'
import { shortened } from '../words.ts'
import { withDefaults } from './targets-file.ts'

export interface JourneyFile {
  readonly list: readonly LoadTarget[]
  readonly journey: Journey
}

/** The engine keeps separate figures for up to this many targets, and each step is a target. */
const MOST_STEPS = 20
/** Default maximum of concurrent journeys: each takes a few hundred bytes, and a connection while a request waits. */
const AT_ONCE = 10_000
const MOST_AT_ONCE = 1_000_000

type Members = Readonly<Record<string, unknown>>

/** An error whose message begins with its place in the file: `, step 2, path: expected ...`. */
class Placed extends Error {}

const placed = (place: string, error: unknown): string => {
  const { message } = error as Error
  return place + (error instanceof Placed ? message : `: ${message.replace(/\.$/, '')}`)
}

/** Adds the place to an error of `read`. */
function within<T>(place: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Placed(placed(`, ${place}`, error))
  }
}

/**
 * `origin` replaces the `origin` in the file. `headers` are added to steps that do not set them.
 * @throws UserError that names the file and the place
 */
export function parseJourney(
  text: string,
  file: string,
  origin: string | undefined,
  headers: RequestHeaders,
): JourneyFile {
  try {
    return journeyOf(text, origin, headers)
  } catch (error) {
    throw new UserError(`${placed(file, error)}.`)
  }
}

function journeyOf(text: string, origin: string | undefined, headers: RequestHeaders): JourneyFile {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (error) {
    throw new Error(`it is not JSON: ${(error as Error).message.replaceAll('\n', ' ')}`)
  }
  const whole = membersOf(given, ['origin', 'atOnce', 'steps'])
  const { atOnce = AT_ONCE, steps } = whole
  const base = within('origin', () => originOf(origin ?? whole['origin']))
  if (!Number.isInteger(atOnce) || (atOnce as number) < 1 || (atOnce as number) > MOST_AT_ONCE) {
    throw new Placed(`, atOnce: expected a whole number from 1 to ${MOST_AT_ONCE}, got ${JSON.stringify(atOnce)}`)
  }
  if (!Array.isArray(steps) || steps.length < 1 || steps.length > MOST_STEPS) {
    throw new Placed(`, steps: expected a list of 1 to ${MOST_STEPS} steps, got ${shown(steps)}`)
  }
  const known: string[] = []
  const read = steps.map((each: unknown, index) => {
    const name = (each as Members | null)?.['name']
    const place = `step ${index + 1}${typeof name === 'string' ? ` (${name})` : ''}`
    const { target, step } = within(place, () => stepOf(each, index, base, headers, known))
    known.push(...step.extract.map(extraction => extraction.name))
    return { target, step }
  })
  return {
    list: read.map(({ target }) => target),
    journey: { steps: read.map(({ step }) => step), atOnce: atOnce as number },
  }
}

const FIELDS = ['name', 'method', 'path', 'headers', 'body', 'extract', 'think']
const SOURCES = ['json', 'header', 'cookie'] as const

/** `known`: the names of values from earlier steps. */
function stepOf(given: unknown, index: number, base: string, defaults: RequestHeaders, known: readonly string[]) {
  const members = membersOf(given, FIELDS)
  const name = textIn(members, 'name', `"step ${index + 1}"`) ?? `step ${index + 1}`
  const target = targetOf(members, base, defaults)
  // Each part is checked alone, to name the wrong part.
  const plain = { ...target, headers: {}, body: undefined }
  const parts = { path: plain, headers: { ...plain, headers: target.headers }, body: target }
  for (const [field, part] of Object.entries(parts)) within(field, () => requestOf(part, true, false, known))
  const extract = within('extract', () => extractionsOf(members['extract']))
  return { target, step: { name, thinkMs: thinkMsOf(members, index), extract } }
}

function textIn(members: Members, field: string, example: string): string | undefined {
  const value = members[field]
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new Placed(`, ${field}: expected a text such as ${example}, got ${shown(value)}`)
}

function targetOf(members: Members, origin: string, defaults: RequestHeaders): LoadTarget {
  const { body } = members
  const path = textIn(members, 'path', '"/cart"')
  if (path === undefined || !path.startsWith('/')) {
    throw new Placed(`, path: expected a path such as "/cart/{{id}}", got ${shown(path)}`)
  }
  const own = within('headers', () => headersOf(members['headers']))
  const headers = withDefaults(own, defaults)
  const method = textIn(members, 'method', '"GET"') ?? (body === undefined ? 'GET' : 'POST')
  const isText = body === undefined || typeof body === 'string'
  return {
    url: `${origin}${path}`,
    method: within('method', () => knownMethod(method)),
    headers: isText ? headers : withDefaults(headers, { 'Content-Type': 'application/json' }),
    body: isText ? body : JSON.stringify(body),
  }
}

function headersOf(given: unknown = {}): RequestHeaders {
  const headers = objectOf(given, 'such as {"Accept": "text/html"}')
  for (const [name, value] of Object.entries(headers)) {
    if ([value].flat().every(each => typeof each === 'string')) continue
    throw new Placed(`, ${name}: expected a text or a list of texts, got ${shown(value)}`)
  }
  return headers as RequestHeaders
}

function extractionsOf(given: unknown = {}): Extraction[] {
  const extract = objectOf(given, 'such as {"token": {"json": "/token"}}')
  return Object.entries(extract).map(([name, source]) => within(name, () => extractionOf(name, source)))
}

function extractionOf(name: string, given: unknown): Extraction {
  if (!/^[A-Za-z_]\w*$/.test(name) || FIELD_NAMES.includes(name)) {
    throw new Error(`a name is letters, digits and _, and none of ${FIELD_NAMES.join(', ')}`)
  }
  const source = membersOf(given, SOURCES)
  const [from, ...more] = SOURCES.filter(each => source[each] !== undefined)
  const at = from === undefined ? undefined : source[from]
  if (from === undefined || more.length > 0 || typeof at !== 'string') {
    throw new Error(`expected one of {"json": "/token"}, {"header": "x-id"} and {"cookie": "sid"}, got ${shown(given)}`)
  }
  if (from === 'json' && !/^(?:\/(?:[^~]|~[01])*)?$/.test(at)) {
    throw new Error(`expected a JSON pointer (RFC 6901) such as "/items/0/id", got ${shown(at)}`)
  }
  return { name, from, at }
}

function thinkMsOf(members: Members, index: number): number {
  const think = textIn(members, 'think', '"500ms"')
  if (think === undefined) return 0
  if (index === 0) throw new Placed(', think: the first step starts with its journey; only later steps can have think')
  return within('think', () => parseDuration(think, 'it'))
}

function membersOf(given: unknown, known: readonly string[]): Members {
  const members = objectOf(given, `with ${known.join(', ')}`)
  const unknown = Object.keys(members).find(name => !known.includes(name))
  if (unknown === undefined) return members
  const near = nearestName(unknown, known)
  const meant = near === undefined ? `expected ${known.join(', ')}` : `did you mean ${near}?`
  throw new Error(`${JSON.stringify(unknown)} is unknown; ${meant}`)
}

function objectOf(given: unknown, wanted: string): Members {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Members
  throw new Error(`expected an object ${wanted}, got ${shown(given)}`)
}

function originOf(given: unknown): string {
  const url = typeof given === 'string' ? URL.parse(given) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '') return url.origin
  throw new Error(
    `expected a server such as "http://127.0.0.1:3000", in the file or on the command line, got ${shown(given)}`,
  )
}

const shown = (value: unknown): string => shortened(JSON.stringify(value) ?? 'none')
