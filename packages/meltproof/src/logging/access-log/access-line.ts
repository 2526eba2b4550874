/** A line of the access log. Pure: what is known of a request in, one line out, whatever the client sent. */
import { clean } from './safe-text.ts'

/** Characters of a field at most; longer ones end in an ellipsis. */
const MOST_URL = 2048
const MOST_OTHER = 512

/** A request as it is logged. What a client sent is still as it came, apart from redaction. */
export interface AccessEntry {
  /** When it came, as in ISO 8601, and as Apache writes it. */
  readonly time: string
  readonly clfTime: string
  readonly method: string
  readonly url: string
  readonly httpVersion: string
  readonly route: string | undefined
  readonly status: number
  readonly outcome: string
  readonly shedReason: string | undefined
  readonly totalMs: number
  readonly queuedMs: number
  readonly stalledMs: number
  readonly dependencyMs: number
  readonly networkMs: number
  readonly ownMs: number
  readonly lateMs: number
  readonly calls: number
  readonly verdict: string
  readonly remote: string | undefined
  readonly referer: string | undefined
  readonly userAgent: string | undefined
  readonly bytes: number | undefined
  /** The share of its like that gets a line; 1 for all. */
  readonly sampled: number
}

/** The fields of the JSON form, safe to hand to any logger. Parts that took no time are left out. */
export function accessFields(entry: AccessEntry): Record<string, string | number> {
  const fields: Record<string, string | number> = {
    method: clean(entry.method, MOST_OTHER),
    url: clean(entry.url, MOST_URL),
    status: entry.status,
    outcome: entry.outcome,
    ms: rounded(entry.totalMs),
  }
  if (entry.route !== undefined) fields['route'] = clean(entry.route, MOST_OTHER)
  if (entry.shedReason !== undefined) fields['shed'] = entry.shedReason
  for (const part of ['queuedMs', 'stalledMs', 'dependencyMs', 'networkMs', 'ownMs', 'lateMs', 'calls'] as const) {
    const value = rounded(entry[part])
    if (value > 0) fields[part] = value
  }
  fields['verdict'] = entry.verdict
  if (entry.bytes !== undefined) fields['bytes'] = entry.bytes
  if (entry.remote !== undefined) fields['remote'] = clean(entry.remote, MOST_OTHER)
  if (entry.referer !== undefined) fields['referer'] = clean(entry.referer, MOST_URL)
  if (entry.userAgent !== undefined) fields['userAgent'] = clean(entry.userAgent, MOST_OTHER)
  if (entry.sampled < 1) fields['sampled'] = Math.round(entry.sampled * 1000) / 1000
  return fields
}

export function jsonLine(entry: AccessEntry): string {
  return `${JSON.stringify({ time: entry.time, ...accessFields(entry) })}\n`
}

/**
 * Apache's combined format (mod_log_config, `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i"`), with quotes and
 * backslashes escaped as Apache does; `%b` is `-` for no bytes. A request without an answer has status 499 if its client went away, as in nginx.
 */
export function combinedLine(entry: AccessEntry): string {
  const { method, url, httpVersion, remote, referer, userAgent, clfTime, status, outcome, bytes } = entry
  const request = `${quoted(method, MOST_OTHER)} ${quoted(url, MOST_URL)} HTTP/${clean(httpVersion, 8)}`
  const shown = status === 0 && outcome === 'aborted' ? 499 : status
  const host = clean(remote ?? '-', MOST_OTHER).replace(/\s/g, '') || '-'
  return `${host} - - [${clfTime}] "${request}" ${shown} ${bytes || '-'} "${quoted(referer, MOST_URL)}" "${quoted(userAgent, MOST_OTHER)}"\n`
}

function quoted(text: string | undefined, most: number): string {
  if (text === undefined || text === '') return '-'
  return clean(text.replace(/["\\]/g, '\\$&'), most)
}

/** To a hundredth of a millisecond. */
function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
