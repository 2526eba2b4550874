/** Wrappers with typical mistakes, to test that the histories find them. */
import type { Redis } from 'ioredis'
import type mysql from 'mysql2'
import pg from 'pg'
import { DeadlineExceededError, remaining } from '../../../src/deadline/index.ts'
import type { Arm } from './arm.ts'

/** How a statement is treated after its deadline; undefined sends it. */
export type Treatment = 'refused' | 'pretended' | 'sent, and refused' | 'sent twice'
export type Treat = (sql: string) => Treatment | undefined

function refusal(): DeadlineExceededError {
  return new DeadlineExceededError({ phase: 'refused', limitMs: 0, waitedMs: 0, ownStallMs: 0, what: 'a query' })
}

export function brokenPg(treat: Treat): Arm['bind'] {
  const patch = (client: pg.ClientBase): void => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    const patched = (...args: unknown[]): unknown => {
      const [config] = args
      const sql = typeof config === 'string' ? config : (config as pg.QueryConfig).text
      const treatment = remaining() <= 0 ? treat(sql) : undefined
      const done = args.at(-1)
      if (treatment === undefined || (typeof done === 'function' && treatment !== 'refused')) return query(...args)
      if (treatment === 'pretended') return Promise.resolve({ rows: [], command: sql })
      if (treatment === 'sent twice') {
        void query(...args)
        return query(...args)
      }
      if (treatment === 'sent, and refused') void (query(...args) as Promise<unknown>).catch(() => {})
      if (typeof done !== 'function') return Promise.reject(refusal())
      done(refusal())
      return undefined
    }
    Object.assign(client, { query: patched })
  }
  return client => {
    if (client instanceof pg.Pool) client.on('connect', patch)
    else patch(client as unknown as pg.ClientBase)
    return client
  }
}

/** After the deadline, refuses the statements that `refuses` selects, on the same connection. */
export function brokenMysql(refuses: (sql: string) => boolean): Arm['bind'] {
  const patch = (connection: mysql.Connection): void => {
    const addCommand = Reflect.get(connection, 'addCommand') as (command: Command) => Command
    Object.assign(connection, {
      addCommand(command: Command) {
        const { sql } = command
        if (remaining() > 0 || typeof sql !== 'string' || !refuses(sql)) return addCommand.call(connection, command)
        process.nextTick(() => command.onResult?.(refusal()))
        return command
      },
    })
  }
  return client => {
    if ('getConnection' in client) (client as unknown as mysql.Pool).on('connection', patch)
    else patch(client as unknown as mysql.Connection)
    return client
  }
}

interface Command {
  readonly sql?: unknown
  onResult?: (error: Error) => void
}

/** After the deadline, refuses the named commands and rejects those that wait, on the same connection. */
export function brokenRedis(names: readonly string[]): Arm['bind'] {
  return client => {
    const redis = client as unknown as Redis
    const sendCommand = redis.sendCommand
    redis.sendCommand = (command, stream) => {
      if (!names.includes(command.name)) return sendCommand.call(redis, command, stream)
      const leftMs = remaining()
      if (leftMs <= 0) {
        command.reject(refusal())
        return command.promise
      }
      const late = (): void => command.reject(new Error('late'))
      if (leftMs < Number.POSITIVE_INFINITY) setTimeout(late, leftMs).unref()
      return sendCommand.call(redis, command, stream)
    }
    return client
  }
}
