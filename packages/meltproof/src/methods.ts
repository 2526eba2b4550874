/** Methods as labels: a client may send any. Pure. */

/** RFC 9110 and RFC 5789; others are `_OTHER`, as OpenTelemetry's conventions ask. */
export const METHODS = [
  '_OTHER',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
] as const

const METHOD_INDEX: ReadonlyMap<string, number> = new Map(METHODS.map((method, i) => [method, i]))

/** In METHODS. */
export function methodIndex(method: string): number {
  return METHOD_INDEX.get(method) ?? 0
}
