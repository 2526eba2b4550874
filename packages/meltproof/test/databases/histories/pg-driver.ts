/** PostgreSQL with the package pg. */
import pg from 'pg'
import { DeadlineExceededError } from '../../../src/deadline/index.ts'
import { isMeltproofError } from '../../../src/errors.ts'
import type { Arm } from './arm.ts'
import type { Answer, Client, Connection, Pool, ScopeStatements, SqlDriver, Statement } from './sql-driver.ts'
import type { Scopes } from './sql-history.ts'

export const pgScopes: Scopes = {
  setting: 'anywhere',
  'time limit': 'anywhere',
  'temporary table': 'anywhere',
  listening: 'anywhere',
  cursor: 'transaction',
  'held cursor': 'transaction',
  lock: 'sound',
  plan: 'sound',
}

const SCOPES: Readonly<Record<string, ScopeStatements>> = {
  setting: {
    acquire: () => "set app.tenant = 'a'",
    release: () => 'reset app.tenant',
    look: () => "select (current_setting('app.tenant') = 'a')::int as held",
  },
  'time limit': {
    acquire: () => 'set statement_timeout = 77000',
    release: () => 'reset statement_timeout',
    look: () => "select (current_setting('statement_timeout') = '77s')::int as held",
  },
  'temporary table': {
    acquire: () => 'create temporary table basket (n int)',
    release: () => 'drop table if exists basket',
    look: () => "select (to_regclass('pg_temp.basket') is not null)::int as held",
  },
  listening: {
    acquire: key => `listen channel_${key}`,
    release: key => `unlisten channel_${key}`,
    // LISTEN takes effect only when its transaction commits.
    look: () => 'select 1 as held',
  },
  cursor: {
    acquire: () => 'declare reader cursor for select * from generate_series(1, 50)',
    release: () => 'close reader',
    look: () => "select count(*)::int as held from pg_cursors where name = 'reader'",
  },
  'held cursor': {
    acquire: () => 'declare keeper cursor with hold for select * from generate_series(1, 50)',
    release: () => 'close keeper',
    look: () => "select count(*)::int as held from pg_cursors where name = 'keeper'",
  },
  lock: {
    acquire: (key, level) => `select pg_advisory_lock(${key}, ${level})`,
    release: (key, level) => `select pg_advisory_unlock(${key}, ${level})`,
    look: (key, level) =>
      `select count(*)::int as held from pg_locks where pid = pg_backend_pid() and classid = ${key} and objid = ${level}`,
  },
  plan: {
    acquire: () => 'prepare plan as select 1',
    release: () => 'deallocate plan',
    look: () => "select count(*)::int as held from pg_prepared_statements where name = 'plan' and from_sql",
  },
}

/** State of a session that a new one does not have, in one row. */
const LEFTOVERS = `select now() <> statement_timestamp() as "an open transaction",
  nullif(current_setting('app.tenant', true), '') as "app.tenant",
  nullif(current_setting('app.local', true), '') as "app.local",
  (select string_agg(name || ' = ' || setting, ', ') from pg_settings where source = 'session') as "settings",
  (select string_agg(relname, ', ') from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r')
    as "temporary tables",
  (select string_agg(name, ', ') from pg_prepared_statements where from_sql) as "plans",
  (select string_agg(name, ', ') from pg_cursors where name <> '') as "cursors",
  (select string_agg(c, ', ') from pg_listening_channels() as c) as "channels",
  (select string_agg(classid || '.' || objid, ', ') from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())
    as "locks"`

/** Errors that end a session. A COMMIT that gets one may have succeeded. */
const FATAL = new Set(['FATAL', 'PANIC'])

export const TABLE = 'create unlogged table writes (history int not null, id int not null)'

export function pgDriver(config: pg.ClientConfig, watcher: pg.Pool): SqlDriver {
  return {
    scopes: pgScopes,
    begin: 'BEGIN',
    statementsOf: scope => SCOPES[scope]!,
    local: {
      setting: () => "set local app.local = 'b'",
      lock: key => `select pg_advisory_xact_lock(${key}, 1000000 + pg_backend_pid())`,
    },
    insert: (history, write) => ({
      sql: 'insert into writes (history, id) values ($1, $2)',
      values: [history, write],
    }),
    work: ms => `select pg_sleep(${ms / 1000})`,
    fails: 'select 1 / 0',
    inTransaction: 'select (now() <> statement_timestamp())::int as held',
    outcomeOf(error) {
      if (error instanceof pg.DatabaseError) return FATAL.has(error.severity ?? '') ? 'unknown' : 'refused'
      if (error instanceof DeadlineExceededError) {
        return ['refused', 'acquire', 'connect'].includes(error.phase) ? 'refused' : 'unknown'
      }
      if (isMeltproofError(error)) return error.code === 'MELTPROOF_CANCELLED' ? 'unknown' : 'refused'
      return 'unknown'
    },
    pool(arm, size): Pool {
      const pool = arm.bind(new pg.Pool({ ...config, max: size }))
      pool.on('error', () => {})
      return {
        run: statement => run(pool, statement),
        async checkOut() {
          const client = await pool.connect()
          return sessionOf(client, async error => client.release(error as Error | undefined))
        },
        end: () => pool.end(),
      }
    },
    client(arm: Arm): Client {
      const client = arm.bind(new pg.Client(config))
      client.on('error', () => {})
      return {
        ...sessionOf(client, () => client.end()),
        open: async () => {
          await client.connect()
        },
      }
    },
    async leftovers(connection) {
      const { rows } = await connection.run({ sql: LEFTOVERS })
      return Object.entries(rows[0]!)
        .filter(([, value]) => value !== null && value !== false)
        .map(([name, value]) => (value === true ? name : `${name}: ${value}`))
    },
    async written(history) {
      const { rows } = await watcher.query('select id, count(*)::int as n from writes where history = $1 group by id', [
        history,
      ])
      return new Map(rows.map(({ id, n }) => [id, n]))
    },
    async locks(key) {
      const { rows } = await watcher.query(
        "select pid, objid from pg_locks where locktype = 'advisory' and classid = $1 and database = (select oid from pg_database where datname = current_database())",
        [key],
      )
      return rows.map(({ pid, objid }) => `the session ${pid} holds lock ${objid}`)
    },
  }
}

function sessionOf(client: pg.ClientBase, giveBack: Connection['giveBack']): Connection {
  return { run: statement => run(client, statement), giveBack }
}

async function run(on: pg.Pool | pg.ClientBase, { sql, values, how = 'text' }: Statement): Promise<Answer> {
  const config: pg.QueryConfig = { text: sql }
  if (values !== undefined) config.values = [...values]
  if (how === 'prepared') config.name = sql
  const result =
    how === 'callback'
      ? await new Promise<pg.QueryResult>((resolve, reject) => {
          const done = (error: Error | undefined, answer: pg.QueryResult): void => {
            if (error) reject(error)
            else resolve(answer)
          }
          void (on as pg.Pool).query(sql, config.values ?? [], done)
        })
      : await on.query(config)
  return { rows: result.rows, rolledBack: sql === 'COMMIT' && result.command === 'ROLLBACK' }
}
