/**
 * Sheds a request at the earliest point: llhttp has parsed its head, and Node has not created an IncomingMessage
 * (docs/benchmarks.md has the gain). Node pools its parsers, so each is wrapped once. If a version of Node names the
 * callback differently, requests are shed one step later.
 */
import { CONNECTION, DISCARDED_REQUEST, type Parser, WRAPPED } from './http-socket.ts'

type OnHeadersComplete = (
  this: Parser,
  major: number,
  minor: number,
  headers: string[] | undefined,
  method: number,
  url: string,
  code: number | undefined,
  reason: string | undefined,
  upgrade: boolean,
  keepAlive: boolean,
) => number

const NAME = 'parserOnHeadersComplete'
const wrappers = new WeakMap<OnHeadersComplete, OnHeadersComplete>()

export function hookHeadersComplete(parser: Parser): void {
  for (let index = 0; index < 8 && parser[WRAPPED] !== true; index++) {
    const callback = parser[index]
    if (typeof callback !== 'function' || callback.name !== NAME) continue
    parser[index] = wrapperOf(callback as OnHeadersComplete)
    parser[WRAPPED] = true
  }
}

function wrapperOf(original: OnHeadersComplete): OnHeadersComplete {
  const known = wrappers.get(original)
  if (known !== undefined) return known
  /** llhttp's number for GET, learned from the first GET that Node handled. */
  let get = -1
  const wrapper: OnHeadersComplete = function (major, minor, headers, method, url, code, reason, upgrade, keepAlive) {
    const on = this.socket?.[CONNECTION]
    const plain = method === get && minor === 1 && major === 1 && !upgrade
    // Headers are missing when Node received them in parts, because there were many.
    if (plain && on !== undefined && headers !== undefined && on.path.refuse(on, headers, url, keepAlive)) {
      this.incoming = DISCARDED_REQUEST
      return 0
    }
    const result = original.call(this, major, minor, headers, method, url, code, reason, upgrade, keepAlive)
    if (get === -1 && this.incoming?.method === 'GET') get = method
    return result
  }
  wrappers.set(original, wrapper)
  return wrapper
}
