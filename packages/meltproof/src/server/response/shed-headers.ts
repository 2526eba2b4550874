/** Constant header fields that the operator adds to shed answers, such as CORS fields. They cost no time per shed. */
import { NO_RETRY_FIELD } from '../../chain.ts'
import { checkFieldName, checkObject, invalidOption } from '../../options.ts'
import { BINARY_FIELD, FIELD } from './load-report.ts'

/** Keys are field names in lower case. */
export type ShedHeaders = Readonly<Record<string, string>>

/** Envoy does not retry an answer with this field, except under `retry_on: envoy-ratelimited`. */
export const NO_RETRY: ShedHeaders = { [NO_RETRY_FIELD]: 'true' }

/** Fields that frame the message or belong to the connection, and those that meltproof writes. */
const OURS = new Set([
  ...['connection', 'content-encoding', 'content-length', 'content-range', 'http2-settings', 'keep-alive'],
  ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['cache-control', 'content-type', 'date', 'retry-after', ...Object.keys(NO_RETRY)],
  ...[FIELD, BINARY_FIELD],
])
const MOST_BYTES = 8192

/** Checks the option or variable `name`. Values must be printable ASCII, so that none can contain a line break. */
export function checkShedHeaders(name: string, headers: unknown): ShedHeaders {
  checkObject(name, headers, 'an object of header fields')
  const checked = new Map<string, string>()
  let bytes = 0
  for (const [given, value] of Object.entries(headers as Readonly<Record<string, unknown>>)) {
    const field = checkFieldName(`a field of ${name}`, given)
    if (OURS.has(field)) invalidOption(`a field of ${name}`, 'not a field that meltproof or Node writes', field)
    if (checked.has(field)) invalidOption(`a field of ${name}`, 'given only once', given)
    if (typeof value !== 'string' || !/^[!-~](?:[ -~]*[!-~])?$/.test(value)) {
      invalidOption(`${name}[${given}]`, 'a string of printable ASCII without spaces around it', value)
    }
    checked.set(field, value)
    bytes += field.length + value.length
  }
  if (bytes > MOST_BYTES) invalidOption(name, `at most ${MOST_BYTES} bytes`, `${bytes} bytes`)
  return Object.fromEntries(checked)
}
