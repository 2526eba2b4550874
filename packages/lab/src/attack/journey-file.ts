/** Parses a journey from JSON: its steps, and values that later steps take from earlier answers. Pure. */
import { nearestName } from '../nearest-name.ts'
import { parseDuration } from '../durations.ts'
import type { Extraction, Journey, JourneyStep, LoadTarget, RequestHeaders } from '../load/plan.ts'
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
/** Default maximum of concurrent journeys: each takes a few hundred bytes, and a connection while it waits. */
const AT_ONCE = 10_000
const MOST_AT_ONCE = 1_000_000

type Members = Readonly<Record<string, unknown>>

/** `origin` replaces that of the file for every step. `headers` are added to steps that lack them. */
export function parseJourney(
  text: string,
  file: string,
  origin: string | undefined,
  headers: RequestHeaders,
): JourneyFile {
  const wrong = (where: string, what: string): UserError =>
    new UserError(`${file}${where}: ${what.replace(/\.$/, '')}.`)
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (error) {
    throw wrong('', `it is not JSON: ${(error as Error).message.replaceAll('\n', ' ')}`)
  }
  const whole = membersOf(given, ['origin', 'atOnce', 'steps'], what => wrong('', what))
  const { atOnce = AT_ONCE, steps } = whole
  const base = originOf(origin ?? whole['origin'], what => wrong(', origin', what))
  if (!Number.isInteger(atOnce) || (atOnce as number) < 1 || (atOnce as number) > MOST_AT_ONCE) {
    throw wrong(', atOnce', `expected a whole number from 1 to ${MOST_AT_ONCE}, got ${JSON.stringify(atOnce)}`)
  }
  if (!Array.isArray(steps) || steps.length < 1 || steps.length > MOST_STEPS) {
    throw wrong(', steps', `expected a list of 1 to ${MOST_STEPS} steps, got ${shown(steps)}`)
  }
  const known: string[] = []
  const read = steps.map((each: unknown, at) => {
    const name = (each as Members | null)?.['name']
    const where = `, step ${at + 1}${typeof name === 'string' ? ` (${name})` : ''}`
    const step = new Step(each, at, (field, what) => wrong(`${where}${field === '' ? '' : `, ${field}`}`, what))
    const target = step.target(base, headers)
    step.check(target, known)
    const extract = step.extractions()
    known.push(...extract.map(({ name: each }) => each))
    return { target, step: { name: step.name, thinkMs: step.thinkMs(), extract } satisfies JourneyStep }
  })
  return {
    list: read.map(({ target }) => target),
    journey: { steps: read.map(({ step }) => step), atOnce: atOnce as number },
  }
}

const FIELDS = ['name', 'method', 'path', 'headers', 'body', 'extract', 'think']
const SOURCES = ['json', 'header', 'cookie'] as const

class Step {
  readonly name: string
  readonly #members: Members
  readonly #at: number
  readonly #wrong: (field: string, what: string) => UserError

  constructor(given: unknown, at: number, wrong: (field: string, what: string) => UserError) {
    this.#wrong = wrong
    this.#at = at
    this.#members = membersOf(given, FIELDS, what => wrong('', what))
    this.name = this.#text('name', `"step ${at + 1}"`) ?? `step ${at + 1}`
  }

  #text(field: string, example: string): string | undefined {
    const value = this.#members[field]
    if (value === undefined || (typeof value === 'string' && value !== '')) return value
    throw this.#wrong(field, `expected a text such as ${example}, got ${shown(value)}`)
  }

  target(origin: string, defaults: RequestHeaders): LoadTarget {
    const { body } = this.#members
    const path = this.#text('path', '"/cart"')
    if (path === undefined || !path.startsWith('/')) {
      throw this.#wrong('path', `expected a path such as "/cart/{{id}}", got ${shown(path)}`)
    }
    const headers = this.#headers(defaults)
    const isText = body === undefined || typeof body === 'string'
    return {
      url: `${origin}${path}`,
      method: this.#method(body === undefined ? 'GET' : 'POST'),
      headers: isText ? headers : withDefaults(headers, { 'Content-Type': 'application/json' }),
      body: isText ? body : JSON.stringify(body),
    }
  }

  #method(fallback: string): string {
    const method = this.#text('method', '"GET"') ?? fallback
    return this.#try('method', () => knownMethod(method))
  }

  #try<T>(field: string, read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw this.#wrong(field, (error as Error).message)
    }
  }

  #headers(defaults: RequestHeaders): RequestHeaders {
    const { headers = {} } = this.#members
    const isTexts = (value: unknown): boolean => typeof value === 'string'
    if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
      throw this.#wrong('headers', `expected an object such as {"Accept": "text/html"}, got ${shown(headers)}`)
    }
    for (const [name, value] of Object.entries(headers)) {
      if ([value].flat().every(isTexts)) continue
      throw this.#wrong(`headers, ${name}`, `expected a text or a list of texts, got ${shown(value)}`)
    }
    return withDefaults(headers as RequestHeaders, defaults)
  }

  /** Checks that the request can be sent. Each part is checked alone, to name the wrong part. */
  check(target: LoadTarget, known: readonly string[]): void {
    const plain = { ...target, headers: {}, body: undefined }
    const parts: readonly (readonly [string, LoadTarget])[] = [
      ['path', plain],
      ['headers', { ...plain, headers: target.headers }],
      ['body', target],
    ]
    for (const [field, part] of parts) this.#try(field, () => requestOf(part, true, false, known))
  }

  extractions(): Extraction[] {
    const { extract = {} } = this.#members
    const wanted = 'expected an object such as {"token": {"json": "/token"}}'
    if (typeof extract !== 'object' || extract === null || Array.isArray(extract)) {
      throw this.#wrong('extract', `${wanted}, got ${shown(extract)}`)
    }
    return Object.entries(extract).map(([name, given]) => {
      const field = `extract, ${name}`
      if (!/^[A-Za-z_]\w*$/.test(name) || FIELD_NAMES.includes(name)) {
        throw this.#wrong(field, `a name is letters, digits and _, and none of ${FIELD_NAMES.join(', ')}`)
      }
      const source = membersOf(given, SOURCES, what => this.#wrong(field, what))
      const [from, ...more] = SOURCES.filter(each => source[each] !== undefined)
      const at = from === undefined ? undefined : source[from]
      if (from === undefined || more.length > 0 || typeof at !== 'string') {
        throw this.#wrong(
          field,
          `expected one of {"json": "/token"}, {"header": "x-id"} and {"cookie": "sid"}, got ${shown(given)}`,
        )
      }
      if (from === 'json' && !/^(?:\/(?:[^~]|~[01])*)?$/.test(at)) {
        throw this.#wrong(field, `expected a JSON pointer (RFC 6901) such as "/items/0/id", got ${shown(at)}`)
      }
      return { name, from, at }
    })
  }

  thinkMs(): number {
    const think = this.#text('think', '"500ms"')
    if (think === undefined) return 0
    if (this.#at === 0)
      throw this.#wrong('think', 'the first step starts with its journey; only later steps can have think')
    return this.#try('think', () => parseDuration(think, 'it'))
  }
}

function membersOf(given: unknown, known: readonly string[], wrong: (what: string) => UserError): Members {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrong(`expected an object with ${known.join(', ')}, got ${shown(given)}`)
  }
  const unknown = Object.keys(given).find(name => !known.includes(name))
  if (unknown === undefined) return given as Members
  const near = nearestName(unknown, known)
  const meant = near === undefined ? `expected ${known.join(', ')}` : `did you mean ${near}?`
  throw wrong(`${JSON.stringify(unknown)} is unknown; ${meant}`)
}

function originOf(given: unknown, wrong: (what: string) => UserError): string {
  const url = typeof given === 'string' ? URL.parse(given) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '') return url.origin
  throw wrong(
    `expected a server such as "http://127.0.0.1:3000", in the file or on the command line, got ${shown(given)}`,
  )
}

const shown = (value: unknown): string => shortened(JSON.stringify(value) ?? 'none')
