/** Guesses from the method, because a search for a body in the head of every request would cost more than a mistake. */
export function mayBringBody({ method }: { readonly method?: string | undefined }): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
}

/** Facts about a head that a shed needs, found in one pass. `request.headers` would build an object of all fields. */
export interface HeadNeeds {
  /** Bytes of body announced; Infinity when chunked. */
  readonly bodyBytes: number
  readonly prefersHtml: boolean
  /** True if the client waits for `100 Continue` before it sends its body. */
  readonly expects: boolean
  /** True if the head has a Host field, as HTTP/1.1 requires; without one Node answers 400. */
  readonly namesHost: boolean
  /** True if the head asks which method is allowed, as the preflight of a browser does (CORS). */
  readonly asksMethod: boolean
}

/** `lines` are the raw header lines: name, value, name, value, ... */
export function describeHead(lines: readonly string[]): HeadNeeds {
  let bodyBytes = 0
  let prefersHtml = false
  let expects = false
  let namesHost = false
  let asksMethod = false
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = lines[i]!
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === 'host') namesHost = true
        break
      case 6:
        if (name.toLowerCase() === 'accept') prefersHtml = htmlComesFirst(lines[i + 1]!)
        else if (name.toLowerCase() === 'expect') expects = true
        break
      case 14:
        // llhttp has checked that the value is a number. With a lenient parser, a transfer encoding may override it.
        if (name.toLowerCase() === 'content-length') bodyBytes = Math.max(bodyBytes, Number(lines[i + 1]))
        break
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') bodyBytes = Number.POSITIVE_INFINITY
        break
      case 29:
        if (name.toLowerCase() === 'access-control-request-method') asksMethod = true
        break
    }
  }
  return { bodyBytes, prefersHtml, expects, namesHost, asksMethod }
}

/** Browsers list text/html first and JSON not at all; an API client that lists both wants JSON. */
function htmlComesFirst(accept: string): boolean {
  return accept.includes('text/html') && !accept.includes('json')
}
