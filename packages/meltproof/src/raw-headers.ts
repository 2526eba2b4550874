/** Reads raw headers (name, value, name, value; strings, or Buffers from undici). Pure. */

/** The value of a field whose `name` is in lower case, joined when it is repeated. */
export function rawHeader(headers: readonly unknown[], name: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const given = headers[i] as { readonly length: number }
    if (given.length !== name.length || String(given).toLowerCase() !== name) continue
    found = found === undefined ? String(headers[i + 1]) : `${found}, ${String(headers[i + 1])}`
  }
  return found
}
