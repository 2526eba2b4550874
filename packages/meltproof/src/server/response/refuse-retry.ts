import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { NO_RETRY_FIELD } from '../../chain.ts'
import { addToHead, beforeHead } from './before-head.ts'

/** Adds a field that forbids a retry to the coming answer, if the status is 500 or more. */
export function refuseRetry(response: ServerResponse & { readonly stream?: ServerHttp2Stream }): void {
  if (response.headersSent) return
  const { stream } = response
  if (stream === undefined) {
    beforeHead(response, head => (Number(head[0]) >= 500 ? addToHead(response, head, NO_RETRY_FIELD, 'true') : head))
    return
  }
  const { respond } = stream
  stream.respond = (fields, options) => {
    const { ':status': status } = (fields ?? {}) as OutgoingHttpHeaders
    return respond.call(stream, Number(status) >= 500 ? { ...fields, [NO_RETRY_FIELD]: 'true' } : fields, options)
  }
}
