/** A real server on which histories run, and random histories that suit it. */
import type fc from 'fast-check'
import mysqlPromise from 'mysql2/promise'
import pg from 'pg'
import { startMariadb, startPostgres, startRedis } from '../real-servers.ts'
import type { Arm } from './arm.ts'
import { mysqlDriver, mysqlScopes, MYSQL_TABLE } from './mysql-driver.ts'
import { pgDriver, pgScopes, TABLE } from './pg-driver.ts'
import { type RedisHistory, redisHistory, sayRedisHistory } from './redis-history.ts'
import { runRedisHistory, watchersOf } from './redis-run.ts'
import { saySqlHistory, type SqlHistory, sqlHistory } from './sql-history.ts'
import { runSqlHistory } from './sql-run.ts'

export interface Arena<History = unknown> {
  readonly histories: fc.Arbitrary<History>
  /** Returns a line for each fault. `key` must be unique on this server. `count` counts what happened. */
  run(history: History, arm: Arm, key: number, count?: (what: string) => void): Promise<string[]>
  /** Describes the history in words. */
  say(history: History): string
  stop(): Promise<void>
}

export const ARENAS: Readonly<Record<string, () => Promise<Arena>>> = {
  pg: startPg,
  mysql: startMysql,
  redis: startRedisArena,
}

/** Enough for a hundred histories at once, with their cancels. */
const MOST_CONNECTIONS = 500

async function startPg(): Promise<Arena<SqlHistory>> {
  const server = await startPostgres(undefined, '-c', `max_connections=${MOST_CONNECTIONS}`)
  const config = { host: '127.0.0.1', port: server.port, user: 'postgres', password: 'secret', database: 'postgres' }
  const watcher = new pg.Pool({ ...config, max: 4 })
  watcher.on('error', () => {})
  await watcher.query(TABLE)
  await watcher.query('create index on writes (history)')
  const driver = pgDriver(config, watcher)
  return {
    histories: sqlHistory(pgScopes),
    run: (history, arm, key, count) => runSqlHistory(history, arm, driver, key, count),
    say: saySqlHistory,
    stop: async () => {
      await watcher.end()
      await server.stop()
    },
  }
}

async function startMysql(): Promise<Arena<SqlHistory>> {
  const server = await startMariadb(`--max-connections=${MOST_CONNECTIONS}`, '--innodb-flush-log-at-trx-commit=0')
  const config = { host: '127.0.0.1', port: server.port, user: 'root' }
  const first = await mysqlPromise.createConnection(config)
  await first.query('create database histories')
  await first.query(MYSQL_TABLE)
  await first.end()
  const inDatabase = { ...config, database: 'histories' }
  const watcher = mysqlPromise.createPool({ ...inDatabase, connectionLimit: 4 })
  const driver = mysqlDriver(inDatabase, watcher)
  return {
    histories: sqlHistory(mysqlScopes),
    run: (history, arm, key, count) => runSqlHistory(history, arm, driver, key, count),
    say: saySqlHistory,
    stop: async () => {
      await watcher.end()
      await server.stop()
    },
  }
}

async function startRedisArena(): Promise<Arena<RedisHistory>> {
  const server = await startRedis()
  const watchers = watchersOf(server.port)
  return {
    histories: redisHistory,
    run: (history, arm, key, count) => runRedisHistory(history, arm, { port: server.port, watchers }, key, count),
    say: sayRedisHistory,
    stop: async () => {
      for (const watcher of watchers) await watcher.quit()
      await server.stop()
    },
  }
}
