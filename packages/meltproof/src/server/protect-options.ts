/** The options of protect(): declared, defaulted and checked in one place. */
import { checkDeadlineHeaders, type DeadlineHeader } from '../deadline/headers.ts'
import { checkNumber, invalidOption, rejectUnknown } from '../options.ts'
import { DEFAULT_LANES } from './lanes.ts'
import { HTML_PAGE, PROBLEM_JSON, type ShedAnswerOptions } from './shed-answer.ts'

/** All optional; the defaults are meant for production. */
export interface ProtectOptions {
  /**
   * Listening sockets that accept connections in parallel, where the platform has `SO_REUSEPORT`; 1 for a single one.
   * @default 32
   */
  readonly lanes?: number
  /**
   * `Retry-After` of a shed answer in whole seconds: one number, or a range to spread returning clients over.
   * @default [1, 5]
   */
  readonly retryAfterS?: number | readonly [least: number, most: number]
  /**
   * Body of a shed answer: text with its content type. Sent to clients that do not prefer HTML.
   * @default RFC 9457 problem JSON
   */
  readonly shedBody?: { readonly type: string; readonly text: string }
  /**
   * HTML page of a shed answer, for clients that prefer HTML.
   * @default a short readable page
   */
  readonly shedPage?: string
  /**
   * How long a request may take from its arrival until its answer begins, ms. Then the client gets a `504` and
   * everything the handler started under `within()`, outbound calls and bound databases is cancelled; the same when
   * the client leaves. Headers from outside ({@link deadlineHeaders}) may shorten it, never lengthen.
   * @default no deadline
   * @example protect(server, { deadlineMs: 3000 })
   */
  readonly deadlineMs?: number
  /**
   * Header fields in which callers say how long they will wait; only with `deadlineMs`. An empty list reads none.
   * @default x-envoy-expected-rq-timeout-ms (milliseconds) and grpc-timeout
   */
  readonly deadlineHeaders?: readonly DeadlineHeader[]
  /**
   * Called with each sentence meltproof has to say (lanes it could not open, a failure inside it). Must not throw.
   * @default process.emitWarning
   */
  readonly onNote?: (note: string) => void
}

export interface CheckedOptions {
  readonly lanes: number
  readonly answer: ShedAnswerOptions
  readonly deadline: { readonly limitMs: number; readonly headers: readonly DeadlineHeader[] } | undefined
  readonly onNote: (note: string) => void
}

const KNOWN = [
  'lanes',
  'retryAfterS',
  'shedBody',
  'shedPage',
  'deadlineMs',
  'deadlineHeaders',
  'onNote',
] as const satisfies (keyof ProtectOptions)[]
/** More listening sockets than this only cost file descriptors. */
const MOST_LANES = 128
/** A day: longer is not "retry", and RFC 9110 clients may overflow. */
const MOST_RETRY_S = 86_400
/** A day: who wants longer wants none. */
const MOST_DEADLINE_MS = 86_400_000
const MOST_BODY_BYTES = 1 << 20

/** Fills in defaults; throws a MeltproofError for anything unknown or out of range. */
export function checkProtectOptions(options: ProtectOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null)
    invalidOption('protect(server, options): options', 'an object', options)
  rejectUnknown('protect(server, options)', options, KNOWN)
  const { lanes = DEFAULT_LANES, retryAfterS = [1, 5], shedBody, shedPage = HTML_PAGE, onNote = warn } = options
  const { deadlineMs, deadlineHeaders } = options
  if (typeof onNote !== 'function') invalidOption('onNote', 'a function', onNote)
  if (typeof shedPage !== 'string') invalidOption('shedPage', 'a string of HTML', shedPage)
  return {
    lanes: checkNumber('lanes', lanes, { min: 1, max: MOST_LANES, whole: true }),
    answer: {
      retryAfterS: checkRetryAfter(retryAfterS),
      body: checkBody(shedBody),
      page: checkSize('shedPage', shedPage),
    },
    deadline: checkDeadline(deadlineMs, deadlineHeaders),
    onNote,
  }
}

function checkDeadline(limitMs: unknown, headers: unknown): CheckedOptions['deadline'] {
  if (limitMs !== undefined) {
    return {
      limitMs: checkNumber('deadlineMs', limitMs, { min: 1, max: MOST_DEADLINE_MS, unit: 'ms' }),
      headers: checkDeadlineHeaders('deadlineHeaders', headers),
    }
  }
  if (headers !== undefined)
    invalidOption('deadlineHeaders', 'given together with deadlineMs, which they shorten', headers)
  return undefined
}

function checkRetryAfter(value: unknown): [number, number] {
  const range = { min: 1, max: MOST_RETRY_S, whole: true, unit: 'seconds' }
  if (!Array.isArray(value)) {
    const seconds = checkNumber('retryAfterS', value, range)
    return [seconds, seconds]
  }
  if (value.length !== 2) invalidOption('retryAfterS', 'a number of seconds or a range [least, most]', value)
  const least = checkNumber('retryAfterS[0]', value[0], range)
  const most = checkNumber('retryAfterS[1]', value[1], { ...range, min: least })
  return [least, most]
}

function checkBody(body: unknown): { type: string; text: string } {
  if (body === undefined) return { type: 'application/problem+json', text: PROBLEM_JSON }
  const { type, text } = (body ?? {}) as { type?: unknown; text?: unknown }
  if (typeof text !== 'string' || typeof type !== 'string') {
    invalidOption('shedBody', '{ type, text }, both strings', body)
  }
  // It becomes a header line: printable ASCII only, so that it can not end the line.
  if (!/^[\x20-\x7e]+$/.test(type)) invalidOption('shedBody.type', 'a content type in printable ASCII', type)
  return { type, text: checkSize('shedBody.text', text) }
}

function checkSize(name: string, text: string): string {
  if (Buffer.byteLength(text) > MOST_BODY_BYTES) invalidOption(name, `at most ${MOST_BODY_BYTES} bytes`, text)
  return text
}

function warn(note: string): void {
  process.emitWarning(note, { type: 'MeltproofWarning' })
}
