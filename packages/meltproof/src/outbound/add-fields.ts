/** Adds header fields to those an app gives undici, in any form undici takes. The app's own fields stay. Pure. */
import type { Fields } from './limits.ts'

/** `headers`: an object, a flat list of names and values, or an iterable of pairs. It is not changed. */
export function addFields(headers: unknown, fields: Fields): unknown {
  if (fields.length === 0) return headers
  if (headers === undefined || headers === null) return Object.fromEntries(fields)
  if (Array.isArray(headers)) {
    const names = headers.filter((_, i) => i % 2 === 0)
    return [...(headers as unknown[]), ...missing(names, fields).flat()]
  }
  if (typeof headers !== 'object') return headers
  if (Symbol.iterator in headers) {
    const pairs = [...(headers as Iterable<[unknown, unknown]>)]
    const all = [
      ...pairs,
      ...missing(
        pairs.map(([name]) => name),
        fields,
      ),
    ]
    // Not an array, which undici reads as a flat list.
    return { [Symbol.iterator]: () => all[Symbol.iterator]() }
  }
  return { ...headers, ...Object.fromEntries(missing(Object.keys(headers), fields)) }
}

/** Those whose names are not among `names`, in any case. */
export function missing(names: readonly unknown[], fields: Fields): Fields {
  const present = new Set(names.map(name => String(name).toLowerCase()))
  return fields.filter(([name]) => !present.has(name))
}
