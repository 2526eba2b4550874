/** Reads properties that undici keeps under symbols. Each copy has its own symbols, so descriptions identify them. */

/** The origin of a Pool or Client. */
export function originOfDispatcher(dispatcher: object): string | undefined {
  const url = valueUnder('url', dispatcher)
  return url instanceof URL ? url.origin : undefined
}

/**
 * True if the call is in the queue of a Client that has a connection: it waits for the calls before it. A Pool gives a
 * call only to a free Client, so a call that has left the queue of a Pool does not wait.
 */
export function isBehindOthers(dispatcher: object, origin: string | undefined): boolean {
  const client: { readonly stats?: { readonly connected?: unknown } } = memberOf(dispatcher, origin)
  // The Client of undici 6 has no `stats`. In a Pool, `connected` is a number.
  return (client.stats?.connected ?? valueUnder('connected', client)) === true
}

/** An Agent keeps a Client or a Pool for each origin. Returns any other dispatcher itself. */
function memberOf(dispatcher: object, origin: string | undefined): object {
  const clients = valueUnder('clients', dispatcher)
  if (!(clients instanceof Map)) return dispatcher
  for (const entry of clients.values() as Iterable<object>) {
    // undici 7 keeps each one in an object, with the number of its connections.
    const { dispatcher: member = entry } = entry as { readonly dispatcher?: object }
    if (originOfDispatcher(member) === origin) return member
  }
  return dispatcher
}

/** A property of the object, or a getter of its class. The symbol of another copy of undici may hold null. */
export function valueUnder(description: string, object: object): unknown {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    for (const symbol of Object.getOwnPropertySymbols(at)) {
      if (symbol.description !== description) continue
      const value: unknown = Reflect.get(object, symbol)
      if (value !== undefined && value !== null) return value
    }
  }
  return undefined
}
