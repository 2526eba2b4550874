/** The requests of a HAR file, as a browser's developer tools save it, in the order in which they were made. Pure. */
import type { LoadTarget } from '../load/plan.ts'
import { isReserved } from '../load/request-text.ts'
import { withHeader } from '../option-values.ts'
import { withDefaults } from './targets-file.ts'

/** Headers that meltlab sets, or that belong to one connection of the browser. `:` begins HTTP/2 pseudo-headers. */
const ours = (name: string): boolean =>
  name.startsWith(':') ||
  isReserved(name) ||
  ['host', 'keep-alive', 'proxy-connection', 'te'].includes(name.toLowerCase())

/** `skipped`: entries that are not HTTP, such as `data:`. @throws Error that names the entry, counted from 1 */
export function parseHar(text: string): { targets: (LoadTarget & { readonly entry: number })[]; skipped: number } {
  // Some Windows tools write a byte order mark.
  const har = JSON.parse(text.replace(/^\ufeff/, '')) as unknown
  const entries = field(field(har, 'log'), 'entries')
  if (!Array.isArray(entries)) throw new Error('it has no log.entries')
  const targets = entries.flatMap((entry: unknown, at) => {
    const request = field(entry, 'request')
    const url = field(request, 'url')
    const method = field(request, 'method')
    if (typeof url !== 'string' || typeof method !== 'string') {
      throw new Error(`entry ${at + 1} has no request with a method and a url`)
    }
    return /^https?:/i.test(url) ? [{ ...targetOf(request, url, method), entry: at + 1 }] : []
  })
  return { targets, skipped: entries.length - targets.length }
}

function targetOf(request: unknown, url: string, method: string): LoadTarget {
  let headers: LoadTarget['headers'] = {}
  for (const { name, value } of pairs(field(request, 'headers'))) {
    if (!ours(name)) headers = withHeader(headers, name, [value])
  }
  const postData = field(request, 'postData')
  const type = field(postData, 'mimeType')
  const body = bodyOf(postData)
  if (body !== undefined && typeof type === 'string' && type !== '')
    headers = withDefaults(headers, { 'Content-Type': type })
  return { url, method: method.toUpperCase(), headers, body }
}

function bodyOf(postData: unknown): LoadTarget['body'] {
  const text = field(postData, 'text')
  if (typeof text === 'string' && text !== '') {
    return field(postData, 'encoding') === 'base64' ? new Uint8Array(Buffer.from(text, 'base64')) : text
  }
  const parameters = pairs(field(postData, 'params'))
  if (parameters.length === 0) return undefined
  return new URLSearchParams(parameters.map(({ name, value }): [string, string] => [name, value])).toString()
}

const field = (of: unknown, name: string): unknown =>
  typeof of === 'object' && of !== null ? (of as Readonly<Record<string, unknown>>)[name] : undefined

function pairs(list: unknown): { readonly name: string; readonly value: string }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((each: unknown) => {
    const [name, value] = [field(each, 'name'), field(each, 'value')]
    return typeof name === 'string' && typeof value === 'string' ? [{ name, value }] : []
  })
}
