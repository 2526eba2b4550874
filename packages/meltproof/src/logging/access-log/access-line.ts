/** Formats a line of the access log. Pure: exactly one line for each entry, whatever a client sends. */
import type { RequestOutcome, RequestRecord } from '../../record.ts'

/** Maximum characters of a field; longer ones end in an ellipsis. */
const MOST_URL = 2048
const MOST_OTHER = 512

const PARTS = ['queuedMs', 'stalledMs', 'dependencyMs', 'poolMs', 'networkMs', 'ownMs', 'lateMs', 'calls'] as const

/** A request to be logged. Fields from the client are unchanged, apart from redaction. */
export interface AccessEntry extends Omit<RequestRecord, 'arrivedAtMs' | 'outcome' | 'shares'> {
  readonly arrived: Date
  readonly httpVersion: string
  readonly outcome: RequestOutcome | 'shed'
  readonly shedReason: string | undefined
  readonly remote: string | undefined
  readonly referer: string | undefined
  readonly userAgent: string | undefined
  readonly traceId: string | undefined
  /** Number of requests in this line. Above 1 the times are means, and client fields are unknown. */
  readonly count: number
  /** Share of requests of this kind that is logged; 1 for all. */
  readonly sampled: number
}

/** Errors, sheds and aborted requests are logged at any pressure, because operators look for them. */
export function isAlwaysLogged(status: number, outcome: string): boolean {
  return outcome !== 'answered' || status === 0 || status >= 400
}

/** The fields of the JSON format, safe for any logger. Durations and call counts of 0 are omitted, except `ms`. */
export function accessFields(entry: AccessEntry): Record<string, string | number> {
  const fields: Record<string, string | number> = {
    method: safeText(entry.method, MOST_OTHER),
    ...(entry.count > 1 ? { count: entry.count } : { url: safeText(entry.url, MOST_URL) }),
    status: entry.status,
    outcome: entry.outcome,
    ms: rounded(entry.totalMs),
  }
  if (entry.route !== undefined) fields['route'] = safeText(entry.route, MOST_OTHER)
  if (entry.shedReason !== undefined) fields['shed'] = entry.shedReason
  for (const part of PARTS) {
    const value = rounded(entry[part])
    if (value > 0) fields[part] = value
  }
  fields['verdict'] = entry.verdict
  if (entry.bytes !== undefined) fields['bytes'] = entry.bytes
  if (entry.remote !== undefined) fields['remote'] = safeText(entry.remote, MOST_OTHER)
  if (entry.referer !== undefined) fields['referer'] = safeText(entry.referer, MOST_URL)
  if (entry.userAgent !== undefined) fields['userAgent'] = safeText(entry.userAgent, MOST_OTHER)
  if (entry.traceId !== undefined) fields['traceId'] = entry.traceId
  if (entry.sampled < 1) fields['sampled'] = Math.round(entry.sampled * 1000) / 1000
  return fields
}

export function jsonLine(entry: AccessEntry): string {
  return `${JSON.stringify({ time: entry.arrived.toISOString(), ...accessFields(entry) })}\n`
}

/**
 * Apache's combined format (mod_log_config, `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i"`), with quotes and
 * backslashes escaped as in Apache. An aborted request has status 499, as in nginx. A line for several requests gives
 * their number in place of the user agent.
 */
export function combinedLine(entry: AccessEntry): string {
  const { arrived, method, url, httpVersion, remote, referer, userAgent, status, outcome, bytes } = entry
  const host = safeText(remote ?? '-', MOST_OTHER).replace(/\s/g, '') || '-'
  const request = `${quoted(method, MOST_OTHER)} ${quoted(url, MOST_URL)} HTTP/${safeText(httpVersion, 8)}`
  const shown = status === 0 && outcome === 'aborted' ? 499 : status
  const program = entry.count > 1 ? `meltproof (${entry.count} such requests)` : userAgent
  const client = `"${quoted(referer, MOST_URL)}" "${quoted(program, MOST_OTHER)}"`
  return `${host} - - [${apacheTime(arrived)}] "${request}" ${shown} ${bytes || '-'} ${client}\n`
}

/** Controls (C0, DEL, C1), line and paragraph separators, writing direction marks, byte order mark, lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cs}\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

/**
 * Makes client input safe to log: it cannot end the line, move a cursor or change the writing direction. Writes unsafe
 * characters as `\x0a` or `\u2028`. Text longer than `most` characters ends in an ellipsis.
 */
export function safeText(text: string, most: number): string {
  const short = text.length > most ? `${text.slice(0, most - 1)}…` : text
  return short.replace(UNSAFE, character => {
    const code = character.charCodeAt(0).toString(16)
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`
  })
}

function quoted(text: string | undefined, most: number): string {
  if (text === undefined || text === '') return '-'
  return safeText(text.replace(/["\\]/g, '\\$&'), most)
}

function apacheTime(date: Date): string {
  const [, day, month, year, clock] = date.toUTCString().split(' ')
  return `${day}/${month}/${year}:${clock} +0000`
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
