/**
 * The clients of bench/outbound.ts, each with its own timeout and bounded by meltproof: one call that is answered in 50
 * ms, and one that is never answered.
 */
import http from 'node:http'
import axios from 'axios'
import got from 'got'
import { Redis } from 'ioredis'
import ky from 'ky'
import { bound as boundRedis } from 'meltproof/ioredis'
import { install } from 'meltproof/outbound'
import { bound as boundPg } from 'meltproof/pg'
import pg from 'pg'
import { Agent, request } from 'undici'

export interface Backends {
  readonly http: string
  /** Proxies to a Redis. Its answers arrive 50 ms later, or never. */
  readonly redisLatePort: number
  readonly redisNeverPort: number
  readonly postgres: string
}

/** Number of calls in flight at the same time. */
export const CONCURRENT = 25

export interface BenchClient {
  late(): Promise<unknown>
  never(): Promise<unknown>
  close(): Promise<unknown> | undefined
}

export type Arm = 'bare' | 'meltproof'

/** Errors with which each client reports its own timeout, or that of meltproof. */
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

/** Makes the calls of an HTTP client, with its own timeout when `limitMs` is given. */
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
    make: (arm, { redisLatePort, redisNeverPort }, limitMs) => {
      const clientOf = (port: number): Redis => {
        // The server that never answers does not answer the checks of a new connection either.
        const redis = new Redis({
          port,
          enableReadyCheck: false,
          disableClientInfo: true,
          ...(arm === 'bare' ? { commandTimeout: limitMs } : {}),
        })
        redis.on('error', () => undefined)
        return arm === 'bare' ? redis : boundRedis(redis, { commandMs: limitMs })
      }
      const late = clientOf(redisLatePort)
      const never = clientOf(redisNeverPort)
      return {
        late: () => late.get('key'),
        never: () => never.get('key'),
        close: async () => {
          late.disconnect()
          never.disconnect()
        },
      }
    },
  },
  pg: {
    own: 'query_timeout: 200, connectionTimeoutMillis: 1000',
    make: (arm, { postgres }, limitMs) => {
      const pool = new pg.Pool({
        connectionString: postgres,
        max: CONCURRENT,
        // Without this limit, calls of the bare arm wait for ever after its pool has lost clients to their timeouts.
        connectionTimeoutMillis: 1_000,
        ...(arm === 'bare' ? { query_timeout: limitMs } : {}),
      })
      pool.on('error', () => undefined)
      if (arm === 'meltproof') boundPg(pool, { queryMs: limitMs })
      return {
        late: () => pool.query('select pg_sleep(0.05)'),
        // Long enough for a timeout, and short enough to end before the next round if it is not cancelled.
        never: () => pool.query('select pg_sleep(1.2)'),
        close: () => pool.end(),
      }
    },
  },
}
