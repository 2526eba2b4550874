/**
 * The clients of bench/outbound.ts, each with the timeout it offers itself and bounded by meltproof: one call that
 * answers in 50 ms, and one that never does.
 */
import http from 'node:http'
import axios from 'axios'
import got from 'got'
import { Redis } from 'ioredis'
import ky from 'ky'
import { within } from 'meltproof/deadline'
import { install } from 'meltproof/outbound'
import pg from 'pg'
import { Agent, request } from 'undici'

export interface Backends {
  readonly http: string
  readonly redisPort: number
  readonly postgres: string
}

/** Calls that are in flight at once; each has a connection. */
export const CONCURRENT = 25

export interface BenchClient {
  late(): Promise<unknown>
  never(): Promise<unknown>
  close(): Promise<unknown> | undefined
}

export type Arm = 'bare' | 'meltproof'

/** How each client says that its own timeout passed, or that meltproof's did. */
const TIMEOUT =
  /Deadline|TimeoutError|HeadersTimeoutError|BodyTimeoutError|ECONNABORTED|ETIMEDOUT|timed out|timeout|own timeout/i

export function isTimeout(error: unknown): boolean {
  for (let at = error as (Error & { code?: string }) | undefined, i = 0; at instanceof Error && i < 5; i++) {
    if (TIMEOUT.test(`${at.name} ${at.code ?? ''} ${at.message}`)) return true
    at = at.cause as typeof at
  }
  return false
}

type Make = (arm: Arm, backends: Backends, limitMs: number) => BenchClient

/** Of an HTTP client: one call, with its own timeout when `limitMs` is given. */
const overHttp =
  (call: (url: string, limitMs: number | undefined) => Promise<unknown>): Make =>
  (arm, backends, limitMs) => {
    if (arm === 'meltproof') install({ totalMs: limitMs })
    const own = arm === 'bare' ? limitMs : undefined
    return {
      late: () => call(`${backends.http}/late`, own),
      never: () => call(`${backends.http}/never`, own),
      close: () => undefined,
    }
  }

const agent = new http.Agent({ keepAlive: true })
const undiciAgent = new Agent({ connections: CONCURRENT })

export const CLIENTS: Readonly<Record<string, { readonly own: string; readonly make: Make }>> = {
  fetch: {
    own: 'AbortSignal.timeout(200)',
    make: overHttp(async (url, ms) => {
      const response = await fetch(url, ms === undefined ? {} : { signal: AbortSignal.timeout(ms) })
      return response.text()
    }),
  },
  undici: {
    own: 'headersTimeout: 200',
    make: overHttp(async (url, ms) => {
      const { body } = await request(url, {
        dispatcher: undiciAgent,
        ...(ms === undefined ? {} : { headersTimeout: ms, bodyTimeout: ms }),
      })
      return body.text()
    }),
  },
  'node:http': {
    own: 'timeout: 200, destroyed on it',
    make: overHttp(
      (url, ms) =>
        new Promise((resolve, reject) => {
          const sent = http.get(url, { agent, ...(ms === undefined ? {} : { timeout: ms }) }, response => {
            response.on('error', reject).on('end', resolve).resume()
          })
          sent.on('error', reject).on('timeout', () => sent.destroy(new Error('own timeout')))
        }),
    ),
  },
  axios: {
    own: 'timeout: 200',
    make: overHttp((url, ms) => axios.get(url, { httpAgent: agent, ...(ms === undefined ? {} : { timeout: ms }) })),
  },
  got: {
    own: 'timeout: { request: 200 }',
    make: overHttp((url, ms) =>
      got(url, {
        agent: { http: agent },
        retry: { limit: 0 },
        ...(ms === undefined ? {} : { timeout: { request: ms } }),
      }).text(),
    ),
  },
  ky: {
    own: 'timeout: 200',
    make: overHttp((url, ms) => ky(url, { retry: 0, timeout: ms ?? false }).text()),
  },
  ioredis: {
    own: 'commandTimeout: 200',
    make: (arm, { redisPort }, limitMs) => {
      // A command that blocks holds its connection: one each.
      const connections = Array.from(
        { length: CONCURRENT },
        () => new Redis({ port: redisPort, ...(arm === 'bare' ? { commandTimeout: limitMs } : {}) }),
      )
      for (const redis of connections) redis.on('error', () => undefined)
      let next = 0
      const call = (seconds: number): Promise<unknown> => {
        const redis = connections[next++ % CONCURRENT]!
        const run = (): Promise<unknown> => redis.blpop('nothing', seconds)
        return arm === 'bare' ? run() : within(limitMs, run)
      }
      return {
        late: () => call(0.05),
        // What blocks is let go, or the connection would still be busy with it in the next round.
        never: () => call(1.2),
        close: () => Promise.all(connections.map(redis => redis.disconnect())),
      }
    },
  },
  pg: {
    own: 'query_timeout: 200',
    make: (arm, { postgres }, limitMs) => {
      const pool = new pg.Pool({
        connectionString: postgres,
        max: CONCURRENT * 3,
        ...(arm === 'bare' ? { query_timeout: limitMs } : {}),
      })
      pool.on('error', () => undefined)
      const call = (seconds: number): Promise<unknown> => {
        const run = (): Promise<unknown> => pool.query(`select pg_sleep(${seconds})`)
        return arm === 'bare' ? run() : within(limitMs, run)
      }
      return { late: () => call(0.05), never: () => call(1.2), close: () => pool.end() }
    },
  },
}
