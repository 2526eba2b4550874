/** How the time of a user or of one statement ends. Pure. */
import fc from 'fast-check'

/** `afterMs` counts from the start of the work. */
export type Ending =
  | { readonly by: 'nothing' }
  /** `within(afterMs, ...)`. */
  | { readonly by: 'deadline'; readonly afterMs: number }
  /** The `signal` passed to `within()` aborts. */
  | { readonly by: 'abort'; readonly afterMs: number }
  /** The work is the handler of a request to a protected server, and its client closes the connection. */
  | { readonly by: 'client'; readonly afterMs: number }
  /** The same, but the client stays and its request has a deadline. */
  | { readonly by: 'request deadline'; readonly afterMs: number }

const WORDS: Readonly<Record<Ending['by'], (afterMs: number) => string>> = {
  nothing: () => 'has all the time it needs',
  deadline: ms => `has a deadline of ${ms} ms`,
  abort: ms => `is aborted after ${ms} ms`,
  client: ms => `serves a client that leaves after ${ms} ms`,
  'request deadline': ms => `serves a request with a deadline of ${ms} ms`,
}

export function sayEnding(ending: Ending): string {
  return WORDS[ending.by](ending.by === 'nothing' ? 0 : ending.afterMs)
}

const afterMs = fc.integer({ min: 1, max: 50 })

export const anEnding: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Ending>({ by: 'nothing' }) },
  { weight: 3, arbitrary: afterMs.map<Ending>(ms => ({ by: 'deadline', afterMs: ms })) },
  { weight: 2, arbitrary: afterMs.map<Ending>(ms => ({ by: 'abort', afterMs: ms })) },
  { weight: 2, arbitrary: afterMs.map<Ending>(ms => ({ by: 'client', afterMs: ms })) },
  { weight: 1, arbitrary: afterMs.map<Ending>(ms => ({ by: 'request deadline', afterMs: ms })) },
)
