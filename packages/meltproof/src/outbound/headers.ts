/** Reads header fields in the forms that clients have them; names in lower case. Pure. */

/** Parsed, or raw (name, value, name, value; strings, or Buffers from undici), which costs less. */
export type Headers = Readonly<Record<string, unknown>> | readonly unknown[]

export type Fields = readonly (readonly [name: string, value: string])[]

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

export function isEventStream(headers: Headers): boolean {
  return headerOf(headers, 'content-type')?.startsWith('text/event-stream') === true
}

/** The fields whose names are not among `names`, in any case. */
export function missing(names: readonly unknown[], fields: Fields): Fields {
  const present = new Set(names.map(name => String(name).toLowerCase()))
  return fields.filter(([name]) => !present.has(name))
}
