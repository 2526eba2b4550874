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

export function parseTargets(text: string, readBody: ReadBody, check: Check = () => {}): LoadTarget[] {
  // A file from Windows may begin with a byte order mark.
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/)
  const first = lines.find(line => line.trim() !== '' && !line.trim().startsWith('#'))
  return first?.trim().startsWith('{') ? jsonTargets(lines, check) : httpTargets(lines, readBody, check)
}

const TARGET = /^([A-Za-z]+)\s+(\S.*)$/

function httpTargets(lines: readonly string[], readBody: ReadBody, check: Check): LoadTarget[] {
  const targets: { -readonly [Key in keyof LoadTarget]: LoadTarget[Key] }[] = []
  let open = false
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim()
    const number = index + 1
    if (line.startsWith('#')) continue
    const target = TARGET.exec(line)
    const current = open ? targets.at(-1) : undefined
    if (line === '') {
      open = false
    } else if (target !== null) {
      targets.push({
        method: methodAt(number, target[1]!, current === undefined ? '' : 'a header such as Accept: text/html, or '),
        url: target[2]!,
        headers: {},
        body: undefined,
      })
      open = true
    } else if (current === undefined) {
      throw new TargetsError(
        number,
        `expected a method and a URL, such as GET http://127.0.0.1:3000/, got "${shortened(line)}"`,
      )
    } else if (line.startsWith('@')) {
      if (current.body !== undefined) throw new TargetsError(number, 'a request has one body')
      const file = line.slice(1)
      current.body = at(
        number,
        () => readBody(file),
        message => `the body ${file} cannot be read: ${message}`,
      )
    } else {
      const colon = line.indexOf(':')
      if (colon < 1)
        throw new TargetsError(number, `expected a header such as Accept: text/html, got "${shortened(line)}"`)
      current.headers = withHeader(current.headers, line.slice(0, colon).trim(), [line.slice(colon + 1).trim()])
    }
    if (open) at(number, () => check(targets.at(-1)!))
  }
  return targets
}

/** Adds the line to an error of `read`. */
function at<T>(line: number, read: () => T, words = (message: string): string => message): T {
  try {
    return read()
  } catch (error) {
    throw new TargetsError(line, words((error as Error).message))
  }
}

/** `instead` names what else is allowed at this place. */
const methodAt = (line: number, method: string, instead = ''): string =>
  at(
    line,
    () => knownMethod(method),
    message => message.replace('expected ', `expected ${instead}`),
  )

/** A target a line: `{"method":"GET","url":"http://...","body":"<base64>","header":{"Accept":["text/html"]}}`. */
function jsonTargets(lines: readonly string[], check: Check): LoadTarget[] {
  return lines.flatMap((raw, index) => {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) return []
    const target = jsonTarget(line, index + 1)
    at(index + 1, () => check(target))
    return [target]
  })
}

function jsonTarget(text: string, line: number): LoadTarget {
  const given: unknown = at(
    line,
    () => JSON.parse(text) as unknown,
    message => `not JSON: ${message}`,
  )
  if (typeof given !== 'object' || given === null)
    throw new TargetsError(line, `expected an object, got ${shortened(text)}`)
  const { method, url, body, header } = given as Readonly<Record<string, unknown>>
  if (typeof method !== 'string') throw new TargetsError(line, 'expected a "method" such as "GET"')
  if (typeof url !== 'string') throw new TargetsError(line, 'expected a "url" such as "http://127.0.0.1:3000/"')
  if (body !== undefined && body !== null && !(typeof body === 'string' && BASE64.test(body))) {
    throw new TargetsError(line, 'expected a "body" in base64')
  }
  let headers: RequestHeaders = {}
  if (typeof (header ?? {}) !== 'object' || Array.isArray(header)) throw new TargetsError(line, WANTED_HEADER)
  for (const [name, values] of Object.entries(header ?? {})) {
    const list: unknown[] = [values].flat()
    if (!list.every(value => typeof value === 'string')) throw new TargetsError(line, WANTED_HEADER)
    headers = withHeader(headers, name, list)
  }
  return {
    method: methodAt(line, method),
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
