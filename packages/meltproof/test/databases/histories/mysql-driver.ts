/** MariaDB with the package mysql2, with its promises and its callbacks. */
import mysql from 'mysql2'
import type mysqlPromise from 'mysql2/promise'
import { DeadlineExceededError } from '../../../src/deadline/index.ts'
import { isMeltproofError } from '../../../src/errors.ts'
import type { Arm } from './arm.ts'
import type { Answer, Client, Connection, Pool, ScopeStatements, Session, SqlDriver, Statement } from './sql-driver.ts'
import type { Scopes } from './sql-history.ts'

/** In MariaDB an error leaves the transaction open, so everything can be released in it. */
export const mysqlScopes: Scopes = {
  setting: 'anywhere',
  'time limit': 'anywhere',
  'temporary table': 'anywhere',
  lock: 'anywhere',
  plan: 'anywhere',
}

const lockOf = (key: number, level: number): string => `'history_${key}_${level}'`
/** The levels that sql-user.ts uses. */
const LEVELS = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]

const SCOPES: Readonly<Record<string, ScopeStatements>> = {
  setting: {
    acquire: () => "set @tenant = 'a'",
    release: () => 'set @tenant = null',
    look: () => "select @tenant = 'a' as held",
  },
  'time limit': {
    acquire: () => 'set session lock_wait_timeout = 77',
    release: () => 'set session lock_wait_timeout = default',
    look: () => 'select @@session.lock_wait_timeout = 77 as held',
  },
  'temporary table': {
    acquire: () => 'create temporary table basket (n int)',
    release: () => 'drop temporary table if exists basket',
    look: () => 'select count(*) + 1 as held from basket',
  },
  lock: {
    acquire: (key, level) => `select get_lock(${lockOf(key, level)}, 30) as held`,
    release: (key, level) => `select release_lock(${lockOf(key, level)})`,
    look: (key, level) => `select is_used_lock(${lockOf(key, level)}) = connection_id() as held`,
  },
  plan: {
    acquire: () => "prepare plan from 'select 1 as held'",
    release: () => 'deallocate prepare plan',
    look: () => 'execute plan',
  },
}

const LEFTOVERS = `select if(@@in_transaction, 'yes', null) as "an open transaction", @tenant as "@tenant",
  if(@@session.lock_wait_timeout = @@global.lock_wait_timeout, null, @@session.lock_wait_timeout) as "lock_wait_timeout",
  if(@@session.autocommit, null, 'off') as "autocommit"`
/** Statements that fail in a clean session, and their error codes. */
const REFUSED_WHEN_CLEAN = [
  { what: 'the temporary table', sql: 'select * from basket', code: 'ER_NO_SUCH_TABLE' },
  { what: 'the plan', sql: 'execute plan', code: 'ER_UNKNOWN_STMT_HANDLER' },
]

export const MYSQL_TABLE =
  'create table histories.writes (history int not null, id int not null, key (history)) engine = innodb'

export function mysqlDriver(config: mysql.ConnectionOptions, watcher: mysqlPromise.Pool): SqlDriver {
  return {
    scopes: mysqlScopes,
    begin: 'BEGIN',
    statementsOf: scope => SCOPES[scope]!,
    local: { setting: undefined, lock: undefined },
    insert: (history, write) => ({ sql: 'insert into writes (history, id) values (?, ?)', values: [history, write] }),
    work: ms => `select sleep(${ms / 1000})`,
    fails: 'select * from nowhere',
    inTransaction: 'select @@in_transaction as held',
    outcomeOf(error) {
      if (error instanceof DeadlineExceededError) {
        return ['refused', 'acquire', 'connect'].includes(error.phase) ? 'refused' : 'unknown'
      }
      if (isMeltproofError(error)) return error.code === 'MELTPROOF_CANCELLED' ? 'unknown' : 'refused'
      const { code = '', fatal = false } = error as { code?: string; fatal?: boolean }
      return code.startsWith('ER_') && code !== 'ER_CONNECTION_KILLED' && !fatal ? 'refused' : 'unknown'
    },
    pool(arm, size): Pool {
      const pool = arm.bind(mysql.createPool({ ...config, connectionLimit: size }))
      const promised = pool.promise()
      return {
        run: statement => run(promised, pool, statement),
        async checkOut() {
          const connection = await promised.getConnection()
          return sessionOf(connection, connection.connection as unknown as Core, async error => {
            if (error === undefined) connection.release()
            else connection.destroy()
          })
        },
        end: () => promised.end(),
      }
    },
    client(arm: Arm): Client {
      const connection = arm.bind(mysql.createConnection(config))
      connection.on('error', () => {})
      const promised = connection.promise()
      return {
        ...sessionOf(promised, connection, () => promised.end()),
        open: () => promised.connect(),
      }
    },
    leftovers,
    async written(history) {
      const [rows] = await watcher.query('select id, count(*) as n from writes where history = ? group by id', [
        history,
      ])
      return new Map((rows as { id: number; n: number }[]).map(({ id, n }) => [id, n]))
    },
    async locks(key) {
      const columns = LEVELS.map(level => `is_used_lock(${lockOf(key, level)}) as "${level}"`)
      const [rows] = await watcher.query(`select ${columns.join(', ')}`)
      return Object.entries((rows as Record<string, unknown>[])[0]!)
        .filter(([, session]) => session !== null)
        .map(([level, session]) => `the session ${session} holds lock ${level}`)
    },
  }
}

/** A pool or connection of mysql2 with callbacks, below its promise API. */
interface Core {
  query(sql: string, values: unknown[], callback: (error: Error | null, result: unknown) => void): unknown
}

async function leftovers(session: Session): Promise<string[]> {
  const { rows } = await session.run({ sql: LEFTOVERS })
  const found = Object.entries(rows[0]!)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${value}`)
  for (const { what, sql, code } of REFUSED_WHEN_CLEAN) {
    try {
      await session.run({ sql })
      found.push(what)
    } catch (error) {
      if ((error as { code?: string }).code !== code) throw error
    }
  }
  return found
}

function sessionOf(promised: mysqlPromise.Connection, core: Core, giveBack: Connection['giveBack']): Connection {
  return { run: statement => run(promised, core, statement), giveBack }
}

async function run(
  promised: mysqlPromise.Pool | mysqlPromise.Connection,
  core: Core,
  { sql, values = [], how = 'text' }: Statement,
): Promise<Answer> {
  const rows =
    how === 'callback'
      ? await new Promise<unknown>((resolve, reject) => {
          core.query(sql, [...values], (error, result) => (error ? reject(error) : resolve(result)))
        })
      : (
          await (how === 'prepared' ? promised.execute(sql, [...values] as number[]) : promised.query(sql, [...values]))
        )[0]
  return { rows: Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [], rolledBack: false }
}
