/**
 * The clients that `install()` covers, each as one function. It resolves with the response body as text, or rejects
 * with the client's error.
 */
import http from 'node:http'
import https from 'node:https'
import axios from 'axios'
import got from 'got'
import ky from 'ky'
import nodeFetch from 'node-fetch'
import { request as undiciRequest } from 'undici'
import { request as undici8Request } from 'undici8'
import type { DeadlineExceededError } from '../../src/deadline/deadline-error.ts'
import { CERTIFICATE } from '../server/tls.fixture.ts'

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly body?: string
}

export type Client = (url: string, options?: CallOptions) => Promise<string>

/** Calls node:http or node:https, depending on the URL, and reads the body with events. */
export const overHttp = (
  url: string,
  { signal, body }: { readonly signal?: AbortSignal; readonly body?: string | Uint8Array } = {},
): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = {
      ca: CERTIFICATE.cert,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { method: 'POST' }),
    }
    const request = (url.startsWith('https:') ? https : http).request(url, options, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => resolve(text))
    })
    request.on('error', reject)
    request.end(body)
  })

const fetched: Client = async (url, { signal, body } = {}) => {
  const response = await fetch(url, {
    ...(signal === undefined ? {} : { signal }),
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  return await response.text()
}

export const CLIENTS: Readonly<Record<string, Client>> = {
  fetch: fetched,
  'undici 7': async (url, { signal, body } = {}) =>
    await (
      await undiciRequest(url, {
        ...(signal === undefined ? {} : { signal }),
        ...(body === undefined ? {} : { method: 'POST' as const, body }),
      })
    ).body.text(),
  'undici 8': async (url, { signal, body } = {}) =>
    await (
      await undici8Request(url, {
        ...(signal === undefined ? {} : { signal }),
        ...(body === undefined ? {} : { method: 'POST' as const, body }),
      })
    ).body.text(),
  'node:http': overHttp,
  axios: async (url, { signal, body } = {}) =>
    (
      await axios.request<string>({
        url,
        responseType: 'text',
        ...(signal === undefined ? {} : { signal }),
        ...(body === undefined ? {} : { method: 'POST', data: body }),
      })
    ).data,
  got: async (url, { signal, body } = {}) =>
    await got(url, {
      retry: { limit: 0 },
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { method: 'POST', body }),
    }).text(),
  ky: async (url, { signal, body } = {}) =>
    await ky(url, {
      retry: 0,
      timeout: false,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { method: 'post', body }),
    }).text(),
  'node-fetch': async (url, { signal, body } = {}) =>
    await (
      await nodeFetch(url, {
        ...(signal === undefined ? {} : { signal }),
        ...(body === undefined ? {} : { method: 'POST', body }),
      })
    ).text(),
}

/** Finds meltproof's error in a client's rejection: the error, one of its causes, or (node-fetch) a copy. */
export function deadlineIn(error: unknown): DeadlineExceededError | undefined {
  let copy: DeadlineExceededError | undefined
  let at: unknown = error
  for (let depth = 0; depth < 5 && typeof at === 'object' && at !== null; depth++) {
    const found = at as DeadlineExceededError & { cause?: unknown }
    if (found.code === 'MELTPROOF_DEADLINE_EXCEEDED') {
      if (found.name === 'DeadlineExceededError') return found
      copy = found
    }
    at = found.cause
  }
  return copy
}

/** The codes of an error and of its causes. */
export function codesOf(error: unknown): string[] {
  const codes: string[] = []
  let at = error as { code?: string; cause?: unknown } | undefined
  for (let depth = 0; depth < 5 && typeof at === 'object' && at !== null; depth++) {
    if (at.code !== undefined) codes.push(at.code)
    at = at.cause as typeof at
  }
  return codes
}

/** Returns the deadline error of a call, and fails for any other outcome. */
export async function exceeded(call: Promise<unknown>): Promise<DeadlineExceededError> {
  let answer: unknown
  try {
    answer = await call
  } catch (error) {
    const deadline = deadlineIn(error)
    if (deadline !== undefined) return deadline
    throw new Error(`rejected with something else than a deadline: ${String(error)}`)
  }
  throw new Error(`answered: ${String(answer).slice(0, 100)}`)
}
