/** Checks options. Errors suggest the nearest name, or name the option, its range and the value received. */
import { MeltproofError } from './errors.ts'

export function rejectUnknown(what: string, given: object, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    const close = nearest(name, known)
    const hint = close === undefined ? '' : ` Did you mean '${close}'?`
    const problem = `${what} does not know '${name}'.${hint} Known: ${known.join(', ')}.`
    throw new MeltproofError('MELTPROOF_OPTION_UNKNOWN', problem)
  }
}

export function invalidOption(name: string, expected: string, value: unknown): never {
  throw new MeltproofError('MELTPROOF_OPTION_INVALID', `${name} must be ${expected}; got ${show(value)}.`)
}

/** Returns a number from `min` to `max`, which must be whole if `whole` is true. Throws for every other value. */
export function checkNumber(
  name: string,
  value: unknown,
  range: { readonly min: number; readonly max: number; readonly whole?: boolean; readonly unit?: string },
): number {
  const { min, max, whole = false, unit } = range
  if (typeof value !== 'number' || !(value >= min && value <= max) || (whole && !Number.isInteger(value))) {
    const kind = whole ? 'a whole number' : 'a number'
    invalidOption(name, `${kind}${unit === undefined ? '' : ` of ${unit}`} from ${min} to ${max}`, value)
  }
  return value
}

export function checkBoolean(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') invalidOption(name, 'true or false', value)
  return value
}

export function checkOneOf<T extends string>(name: string, value: T, known: readonly T[]): T {
  if (!known.includes(value)) invalidOption(name, known.map(each => `'${each}'`).join(' or '), value)
  return value
}

export function checkObject(name: string, value: unknown, expected: string): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) invalidOption(name, expected, value)
}

export function checkFunction<F>(name: string, value: F | undefined): F | undefined {
  if (value !== undefined && typeof value !== 'function') invalidOption(name, 'a function', value)
  return value
}

/** Throws unless the value has the method that the caller needs, as a guard of `protect()` has. */
export function checkGuard(name: string, guard: unknown, method: string): void {
  const { [method]: found } = Object(guard) as Record<string, unknown>
  if (typeof found !== 'function') invalidOption(`${name}: guard`, 'the guard that protect() returned', guard)
}

/** Checks the name of a header field (RFC 9110 section 5.6.2). Returns it in lower case, as Node does. */
export function checkFieldName(name: string, value: unknown): string {
  if (typeof value !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value)) {
    invalidOption(name, 'the name of a header field', value)
  }
  return value.toLowerCase()
}

/** Describes a value briefly, for messages. Never throws. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 57)}...'` : `'${value}'`
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    if (Array.isArray(value)) return 'an array'
    return value instanceof Promise ? 'a promise' : 'an object'
  } catch {
    return 'an object' // Inspecting a Proxy may throw.
  }
}

/** Describes a value thrown by foreign code, for messages. Never throws, even if the value's own methods throw. */
export function showThrown(thrown: unknown, { stack = false }: { readonly stack?: boolean } = {}): string {
  try {
    if (thrown instanceof Error) return String((stack && thrown.stack) || thrown)
  } catch {
    // The error cannot be printed, so it is described like any other value.
  }
  return show(thrown)
}

/** Returns the nearest known name, if its edit distance is at most 2 or a third of its length. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  return known
    .map(each => ({ each, distance: editDistance(name.toLowerCase(), each.toLowerCase()) }))
    .filter(({ each, distance }) => distance <= Math.max(2, each.length / 3))
    .sort((a, b) => a.distance - b.distance)[0]?.each
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(previous[j]! + 1, row[j - 1]! + 1, substitution))
    }
    previous = row
  }
  return previous[b.length]!
}
