/** The bytes of one request. Every request of a run is the same, so they are made once. Pure but for Buffer. */
import { Buffer } from 'node:buffer'
import type { LoadPlan } from './plan.ts'
import type { Target } from './target.ts'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Anything but control characters (tab allowed): what may stand in a header's value. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** What the generator itself decides; a header of the user's that contradicts it would break the framing. */
const RESERVED = new Set(['connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect'])

/** Throws a RangeError that names the header or method at fault. */
export const requestBytes = (plan: LoadPlan, target: Target): Buffer => {
  if (!TOKEN.test(plan.method)) throw new RangeError(`method must be an HTTP method such as GET, got "${plan.method}"`)
  if (plan.method.toUpperCase() === 'CONNECT')
    throw new RangeError('method CONNECT opens a tunnel and is not supported')
  const given = new Map<string, string>()
  for (const [name, value] of Object.entries(plan.headers)) {
    if (!TOKEN.test(name)) throw new RangeError(`header names must be HTTP tokens, got "${name}"`)
    if (!VALUE.test(value))
      throw new RangeError(`the value of header ${name} holds a character that HTTP does not allow`)
    if (RESERVED.has(name.toLowerCase())) throw new RangeError(`header ${name} is set by the generator itself`)
    given.set(name.toLowerCase(), `${name}: ${value}`)
  }
  const body = plan.body === undefined ? undefined : Buffer.from(plan.body, 'utf8')
  const lines = [`${plan.method} ${target.path} HTTP/1.1`, given.get('host') ?? `Host: ${target.host}`]
  if (!given.has('user-agent')) lines.push('User-Agent: meltlab')
  if (!given.has('accept')) lines.push('Accept: */*')
  for (const [name, line] of given) if (name !== 'host') lines.push(line)
  if (body !== undefined) {
    if (!given.has('content-type')) lines.push('Content-Type: text/plain; charset=utf-8')
    lines.push(`Content-Length: ${body.length}`)
  }
  if (plan.connections.kind === 'fresh') lines.push('Connection: close')
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return body === undefined ? head : Buffer.concat([head, body])
}
