/**
 * Deadlines across processes: header fields with the remaining time, because clocks differ. Pure. A field that is not
 * exactly as specified is ignored; of several fields the smallest counts.
 */
import { invalidOption } from '../options.ts'

/** `milliseconds`: a whole number, as Envoy writes it. `grpc`: at most eight digits and a unit (`H M S m u n`). */
export type DeadlineFormat = 'milliseconds' | 'grpc'

export interface DeadlineHeader {
  readonly name: string
  readonly format: DeadlineFormat
}

export const DEADLINE_HEADERS: readonly DeadlineHeader[] = [
  { name: 'x-envoy-expected-rq-timeout-ms', format: 'milliseconds' },
  { name: 'grpc-timeout', format: 'grpc' },
]

export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>

/** The shortest duration in these fields, ms; undefined if no field has one. */
export function readDeadline(
  fields: HeaderFields,
  headers: readonly DeadlineHeader[] = DEADLINE_HEADERS,
): number | undefined {
  let leastMs: number | undefined
  for (const { name, format } of headers) {
    const value = fields[name]
    if (value === undefined) continue
    const values = typeof value === 'string' ? (value.includes(',') ? value.split(',') : [value]) : value
    for (const text of values.slice(0, MOST_REPEATED)) {
      const ms = parseDeadline(text, format)
      if (ms !== undefined && (leastMs === undefined || ms < leastMs)) leastMs = ms
    }
  }
  return leastMs
}

/**
 * The new value of a field whose value is `given`, so that no callee gets longer than `leftMs`; undefined to leave the
 * field as it is. Apps that forward a client's field must not extend the time.
 */
export function shortened(given: string | undefined, leftMs: number, header: DeadlineHeader): string | undefined {
  const givenMs = given === undefined ? undefined : readDeadline({ [header.name]: given }, [header])
  return givenMs !== undefined && givenMs <= leftMs ? undefined : formatDeadline(leftMs, header.format)
}

export function parseDeadline(text: string, format: DeadlineFormat): number | undefined {
  if (text.length > LONGEST) return undefined
  const match = PATTERN[format].exec(text)
  if (match === null) return undefined
  const ms = format === 'grpc' ? Number(match[1]) * GRPC_UNIT_MS[match[2]!]! : Number(match[1])
  // Proxies write 0 for "no timeout", and a caller without time left does not call.
  return ms > 0 ? ms : undefined
}

/** Rounded down, so that no callee gets longer than this process waits. Undefined without a limit or time left. */
export function formatDeadline(leftMs: number, format: DeadlineFormat): string | undefined {
  if (!Number.isFinite(leftMs) || leftMs < 1) return undefined
  const ms = Math.floor(leftMs)
  if (format === 'milliseconds') return ms > MOST_MS ? String(MOST_MS) : String(ms)
  if (ms <= MOST_GRPC_VALUE) return `${ms}m`
  return `${Math.min(Math.floor(ms / 1000), MOST_GRPC_VALUE)}S`
}

/** Throws a MeltproofError that names the invalid name or format. */
export function checkDeadlineHeaders(option: string, value: unknown): readonly DeadlineHeader[] {
  if (value === undefined) return DEADLINE_HEADERS
  if (!Array.isArray(value)) invalidOption(option, 'a list of { name, format }', value)
  return (value as readonly unknown[]).map((header, i) => {
    const { name, format } = (header ?? {}) as { name?: unknown; format?: unknown }
    if (typeof name !== 'string' || !TOKEN.test(name) || TAKEN.has(name.toLowerCase())) {
      invalidOption(`${option}[${i}].name`, 'the name of a header field that HTTP does not use itself', name)
    }
    if (format !== 'milliseconds' && format !== 'grpc') {
      invalidOption(`${option}[${i}].format`, "'milliseconds' or 'grpc'", format)
    }
    return { name: name.toLowerCase(), format }
  })
}

const PATTERN: Readonly<Record<DeadlineFormat, RegExp>> = {
  milliseconds: /^[ \t]*([0-9]{1,13})[ \t]*$/,
  grpc: /^[ \t]*([0-9]{1,8})([HMSmun])[ \t]*$/,
}
const GRPC_UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 }
const MOST_GRPC_VALUE = 99_999_999
const MOST_MS = 9_999_999_999_999
const LONGEST = 32
const MOST_REPEATED = 16
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const TAKEN = new Set(
  'authorization connection content-encoding content-length content-type cookie expect host keep-alive set-cookie te trailer transfer-encoding upgrade proxy-authorization proxy-connection'.split(
    ' ',
  ),
)
