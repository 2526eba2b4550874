/** Reads header fields in the formats that clients use; names are in lower case. Pure. */

/** An object, or a raw list of names and values (strings, or Buffers from undici). Reading the list costs less. */
export type Headers = Readonly<Record<string, unknown>> | readonly unknown[]

export type Fields = (readonly [name: string, value: string])[]

/** Returns the value of a request's field. */
export type Given = (name: string) => string | undefined

export function headerOf(headers: Headers, name: string): string | undefined {
  if (!Array.isArray(headers)) {
    const value = (headers as Readonly<Record<string, unknown>>)[name]
    return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
  }
  let found: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const given = headers[i] as { readonly length: number }
    if (given.length !== name.length || String(given).toLowerCase() !== name) continue
    found = found === undefined ? String(headers[i + 1]) : `${found}, ${String(headers[i + 1])}`
  }
  return found
}

/** Media types of streams: their sender decides when they end. */
const STREAMS: ReadonlySet<string> = new Set([
  'text/event-stream',
  'multipart/x-mixed-replace',
  ...['ndjson', 'x-ndjson', 'jsonl', 'x-jsonlines', 'json-seq', 'stream+json', 'grpc', 'grpc+proto'].map(
    name => `application/${name}`,
  ),
  'application/vnd.amazon.eventstream',
  'application/vnd.docker.multiplexed-stream',
  'application/vnd.docker.raw-stream',
])

export function isStream(headers: Headers): boolean {
  return STREAMS.has(mediaTypeOf(headers))
}

/** Recognises gRPC, which sends its result in trailers. */
export function isGrpc(headers: Headers): boolean {
  return mediaTypeOf(headers).startsWith('application/grpc')
}

function mediaTypeOf(headers: Headers): string {
  return (headerOf(headers, 'content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase()
}

/** gRPC's RESOURCE_EXHAUSTED and UNAVAILABLE. */
const REFUSING_GRPC = new Set(['8', '14'])

/** Recognises an answer with which an overloaded server refuses the work. */
export function isRefusal(status: number | undefined, headers: Headers): boolean {
  if (status === 503 || status === 429) return true
  // On other 5xx answers the field is no refusal: it says that the one retry of the request was used (docs/tiers.md).
  if (headerOf(headers, 'x-envoy-ratelimited') !== undefined && !(Number(status) >= 500)) return true
  return isGrpcRefusal(headers)
}

/** gRPC sends its status in trailers, or in the head of an answer without a body. */
export function isGrpcRefusal(fields: Headers): boolean {
  return REFUSING_GRPC.has(headerOf(fields, 'grpc-status')?.trim() ?? '')
}
