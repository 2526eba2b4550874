/** Parses values of options. Pure. */
import { METHODS } from 'node:http'
import { UserError } from './user-error.ts'

/** Option values by name, as commander returns them. */
export type Given<Names extends string, Value> = Readonly<Record<Names, Value>>

/** The TLS options as commander returns them: file names, and `insecure`, which trusts any certificate. */
export interface TlsFlags {
  readonly insecure?: true
  readonly cacert?: string
  readonly cert?: string
  readonly key?: string
}

export function numberOf(text: string, name: string, least: number, most: number, whole: boolean): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value
  throw new UserError(`${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, got "${text}".`)
}

type Headers = Readonly<Record<string, string | string[]>>

/** Parses `Name: value` lines. */
export function headersOf(lines: readonly string[]): Headers {
  let headers: Headers = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon < 1) throw new UserError(`--header must be "Name: value", got "${line}".`)
    headers = withHeader(headers, line.slice(0, colon).trim(), [line.slice(colon + 1).trim()])
  }
  return headers
}

/** A name that is given twice, in whatever case, becomes a list: each value is sent. */
export function withHeader(headers: Headers, name: string, values: readonly string[]): Headers {
  const known = Object.keys(headers).find(each => each.toLowerCase() === name.toLowerCase()) ?? name
  const all = [headers[known] ?? [], values].flat()
  return { ...headers, [known]: all.length === 1 ? all[0]! : all }
}

export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError(`--url must be an http or https address such as http://127.0.0.1:3000, got ${text}`)
  }
  return url
}

/** A path on the server, with its query. */
export function checkPath(path: string): string {
  if (!path.startsWith('/')) throw new UserError(`--path must start with a slash, got ${path}`)
  // A URL parser takes `//host/` for another host, to which the load would go.
  if (URL.parse(path, 'http://localhost')?.host !== 'localhost') {
    throw new UserError(`--path must be a path on the server itself, got ${path}`)
  }
  return path
}

const USUAL_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS'

/** Converts the value of `option` to capitals. @throws UserError for a method that Node's servers do not know */
export function knownMethod(text: string, option?: string): string {
  const method = text.toUpperCase()
  const where = option === undefined ? '' : `${option}: `
  if (method === 'CONNECT') throw new UserError(`${where}method CONNECT opens a tunnel and is not supported.`)
  if (METHODS.includes(method)) return method
  throw new UserError(`${where}expected an HTTP method such as ${USUAL_METHODS}, got "${text}".`)
}

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]
