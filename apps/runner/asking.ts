/** Sends requests to an app, stores the values that later requests need, and reads each answer to its end. */
import http from 'node:http'
import type { Ask } from './definition.ts'

export interface Answer {
  readonly status: number
  /** Names and order as sent. A name may occur twice. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

export interface Asker {
  ask(request: Ask): Promise<Answer>
  /** Opens the request, for callers that read the answer themselves. */
  open(request: Ask, options?: http.RequestOptions): http.ClientRequest
  fill(text: string): string
  /** The stored values, which differ from run to run. */
  kept(): readonly string[]
  close(): void
}

const LONGEST_ANSWER_MS = 60_000

export function asker(origin: string, fillIn: (text: string) => string = text => text): Asker {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
  const values = new Map<string, string>()
  const fill = (text: string): string =>
    [...values].reduce((filled, [name, value]) => filled.replaceAll(`{${name}}`, value), fillIn(text))
  const open = ({ method = 'GET', path, headers = {} }: Ask, options: http.RequestOptions = {}): http.ClientRequest =>
    http.request(new URL(fill(path), origin), {
      method,
      agent,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)])),
      ...options,
    })
  return {
    open,
    fill,
    async ask(request) {
      const answer = await ended(open(request), request.body === undefined ? undefined : fill(request.body))
      for (const [name, pattern] of Object.entries(request.keep ?? {})) {
        const found = pattern.exec(answer.body.toString())?.[1]
        if (found === undefined) {
          const what = `${request.method ?? 'GET'} ${request.path} answered ${answer.status}`
          throw new Error(`${what} without the ${name} it was asked for: ${answer.body.toString().slice(0, 300)}`)
        }
        values.set(name, found)
      }
      return answer
    },
    kept: () => [...values.values()],
    close: () => agent.destroy(),
  }
}

/** Ends a request with `body` and reads its answer. */
export function ended(request: http.ClientRequest, body?: string): Promise<Answer> {
  const answer = answerOf(request)
  if (body !== undefined) request.setHeader('Content-Length', Buffer.byteLength(body))
  request.end(body)
  return answer
}

/** The answer to a request that the caller writes. Rejects when it is cut. */
export function answerOf(request: http.ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => request.destroy(new Error('no complete answer within 60 s')), LONGEST_ANSWER_MS)
    const fail = (why: string): void => {
      clearTimeout(timer)
      reject(new Error(`${request.method} ${request.path}: ${why}`))
    }
    request.once('error', error => fail(error.message || String(error)))
    request.once('response', response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', error => fail(error.message))
      response.once('close', () => {
        if (!response.complete) return fail('the answer was cut')
        clearTimeout(timer)
        resolve({ status: response.statusCode!, headers: pairs(response.rawHeaders), body: Buffer.concat(chunks) })
      })
    })
  })
}

/** Converts [name, value, name, value] to pairs. Pure. */
export function pairs(raw: readonly string[]): (readonly [string, string])[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []))
}
