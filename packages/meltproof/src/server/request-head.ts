/**
 * What a shed needs to know of a request's head, read in one pass over the raw header lines.
 * `request.headers` would build an object of all of them for every request turned away.
 */
import type { IncomingMessage } from 'node:http'

export interface HeadNeeds {
  /** Bytes of body announced; Infinity when chunked. */
  readonly bodyBytes: number
  readonly prefersHtml: boolean
  /** The client waits for `100 Continue` before it sends its body. */
  readonly expects: boolean
}

export function describeHead(request: IncomingMessage): HeadNeeds {
  let bodyBytes = 0
  let prefersHtml = false
  let expects = false
  const lines = request.rawHeaders
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = lines[i]!
    // Compare lengths first: most names differ there already.
    switch (name.length) {
      case 6:
        if (name.toLowerCase() === 'accept') prefersHtml = htmlComesFirst(lines[i + 1]!)
        else if (name.toLowerCase() === 'expect') expects = true
        break
      case 14:
        // llhttp has checked that it is a number. With both (a lenient parser), chunked is what it obeys.
        if (name.toLowerCase() === 'content-length') bodyBytes = Math.max(bodyBytes, Number(lines[i + 1]))
        break
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') bodyBytes = Number.POSITIVE_INFINITY
        break
    }
  }
  return { bodyBytes, prefersHtml, expects }
}

/** Browsers name text/html first and JSON not at all; an API client that lists both wants JSON. */
function htmlComesFirst(accept: string): boolean {
  return accept.includes('text/html') && !accept.includes('json')
}
