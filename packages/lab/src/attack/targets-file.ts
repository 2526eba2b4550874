/** Targets in vegeta's http format (`METHOD URL`, headers, `@bodyfile`, `#` comments) or as JSON lines. Pure. */
import type { LoadTarget, RequestHeaders } from '../load/plan.ts'
import { knownMethod, withHeader } from '../option-values.ts'
import { shortened } from '../words.ts'

/** Its message says which line is wrong: "line 3: ...". */
export class TargetsError extends Error {
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`)
  }
}

type ReadBody = (file: string) => Uint8Array
/** Throws for a target that cannot be sent. Called after each line of a target, so that the wrong line is named. */
type Check = (target: LoadTarget) => void

/** A target to which further lines may add. */
type Draft = { -readonly [Key in keyof LoadTarget]: LoadTarget[Key] }

/** @throws TargetsError */
export function parseTargets(text: string, readBody: ReadBody, check: Check = () => {}): LoadTarget[] {
  // A file from Windows may begin with a byte order mark.
  const lines = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map(line => line.trim())
  const isJson = lines.find(line => line !== '' && !line.startsWith('#'))?.startsWith('{') === true
  const targets: Draft[] = []
  /** True if the last line belongs to the last target. */
  let open = false
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('#')) continue
    try {
      if (line !== '' && isJson) targets.push(jsonTarget(line))
      else if (line !== '') readHttp(line, targets, open, readBody)
      open = line !== ''
      if (open) check(targets.at(-1)!)
    } catch (error) {
      throw new TargetsError(index + 1, (error as Error).message)
    }
  }
  return targets
}

const TARGET = /^([A-Za-z]+)\s+(\S.*)$/

/** Begins a target, or adds a header or a body to the last one if `open`. */
function readHttp(line: string, targets: Draft[], open: boolean, readBody: ReadBody): void {
  const target = TARGET.exec(line)
  const current = open ? targets.at(-1) : undefined
  if (target !== null) {
    const method = methodOf(target[1]!, current === undefined ? '' : 'a header such as Accept: text/html, or ')
    targets.push({ method, url: target[2]!, headers: {}, body: undefined })
  } else if (current === undefined) {
    throw new Error(`expected a method and a URL, such as GET http://127.0.0.1:3000/, got "${shortened(line)}"`)
  } else if (line.startsWith('@')) {
    if (current.body !== undefined) throw new Error('a request has one body')
    current.body = bodyIn(line.slice(1), readBody)
  } else {
    const colon = line.indexOf(':')
    if (colon < 1) throw new Error(`expected a header such as Accept: text/html, got "${shortened(line)}"`)
    current.headers = withHeader(current.headers, line.slice(0, colon).trim(), [line.slice(colon + 1).trim()])
  }
}

/** `instead` names what else is allowed at this place. */
function methodOf(method: string, instead: string): string {
  try {
    return knownMethod(method)
  } catch (error) {
    throw new Error((error as Error).message.replace('expected ', `expected ${instead}`))
  }
}

function bodyIn(file: string, readBody: ReadBody): Uint8Array {
  try {
    return readBody(file)
  } catch (error) {
    throw new Error(`the body ${file} cannot be read: ${(error as Error).message}`)
  }
}

/** Parses `{"method":"GET","url":"http://...","body":"<base64>","header":{"Accept":["text/html"]}}`. */
function jsonTarget(text: string): LoadTarget {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (error) {
    throw new Error(`not JSON: ${(error as Error).message}`)
  }
  if (typeof given !== 'object' || given === null) throw new Error(`expected an object, got ${shortened(text)}`)
  const { method, url, body, header } = given as Readonly<Record<string, unknown>>
  if (typeof method !== 'string') throw new Error('expected a "method" such as "GET"')
  if (typeof url !== 'string') throw new Error('expected a "url" such as "http://127.0.0.1:3000/"')
  if (body !== undefined && body !== null && !(typeof body === 'string' && BASE64.test(body))) {
    throw new Error('expected a "body" in base64')
  }
  let headers: RequestHeaders = {}
  if (typeof (header ?? {}) !== 'object' || Array.isArray(header)) throw new Error(WANTED_HEADER)
  for (const [name, values] of Object.entries(header ?? {})) {
    const list: unknown[] = [values].flat()
    if (!list.every(value => typeof value === 'string')) throw new Error(WANTED_HEADER)
    headers = withHeader(headers, name, list)
  }
  return {
    method: knownMethod(method),
    url,
    headers,
    body: typeof body === 'string' ? new Uint8Array(Buffer.from(body, 'base64')) : undefined,
  }
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const WANTED_HEADER = 'expected a "header" such as {"Accept": ["text/html"]}'

/** Adds the `defaults` that the target does not set. */
export function withDefaults(own: RequestHeaders, defaults: RequestHeaders): RequestHeaders {
  const names = new Set(Object.keys(own).map(name => name.toLowerCase()))
  const missing = Object.entries(defaults).filter(([name]) => !names.has(name.toLowerCase()))
  return { ...own, ...Object.fromEntries(missing) }
}
