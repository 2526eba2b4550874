/** The text of a request, one character per byte (latin1), so that it can cross threads. Pure except for Buffer. */
import { Buffer } from 'node:buffer'
import type { LoadTarget } from './plan.ts'
import type { Target } from './target.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Header values allow everything except control characters (tab is allowed). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** Headers that the generator sets; a user's header would break the framing. */
const RESERVED = new Set(['connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect'])

export interface RequestText {
  /** Everything up to the last header, without the body's length. */
  readonly head: string
  readonly body: string | undefined
  readonly isHead: boolean
  /** Names in template fields for values from earlier answers of a journey. */
  readonly extracted?: readonly string[]
}

/** Throws a RangeError that names the wrong header or method. `fresh`: the connection ends with the request. */
export const requestText = (request: LoadTarget, target: Target, fresh: boolean): RequestText => {
  const { method } = request
  if (!TOKEN.test(method)) throw new RangeError(`method must be an HTTP method such as GET, got "${method}"`)
  if (method.toUpperCase() === 'CONNECT') throw new RangeError('method CONNECT opens a tunnel and is not supported')
  const given: { readonly name: string; readonly line: string }[] = []
  for (const [name, values] of Object.entries(request.headers)) {
    if (!TOKEN.test(name)) throw new RangeError(`header names must be HTTP tokens, got "${name}"`)
    if (isReserved(name)) throw new RangeError(`header ${name} is set by the generator itself`)
    for (const value of typeof values === 'string' ? [values] : values) {
      if (!VALUE.test(value)) {
        throw new RangeError(`the value of header ${name} holds a character that HTTP does not allow`)
      }
      given.push({ name: name.toLowerCase(), line: `${name}: ${value}` })
    }
  }
  const has = (name: string): boolean => given.some(header => header.name === name)
  const hosts = given.filter(header => header.name === 'host')
  if (hosts.length > 1) throw new RangeError(`a request has one Host header, got ${hosts.length}`)
  const { body } = request
  const lines = [`${method} ${target.path} HTTP/1.1`, hosts[0]?.line ?? `Host: ${target.host}`]
  if (!has('user-agent')) lines.push('User-Agent: meltlab')
  if (!has('accept')) lines.push('Accept: */*')
  for (const { name, line } of given) if (name !== 'host') lines.push(line)
  if (body !== undefined && !has('content-type')) lines.push('Content-Type: text/plain; charset=utf-8')
  if (fresh) lines.push('Connection: close')
  return {
    head: lines.join('\r\n'),
    body: body === undefined ? undefined : Buffer.from(body as string).toString('latin1'),
    isHead: method.toUpperCase() === 'HEAD',
  }
}

export const isReserved = (header: string): boolean => RESERVED.has(header.toLowerCase())
