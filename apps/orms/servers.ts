/** The databases for the mappers, with their only table. */
import mysqlPromise from 'mysql2/promise'
import pg from 'pg'
import { startMariadb, startPostgres } from '../../packages/meltproof/test/databases/real-servers.ts'
import type { Dialect, OrmServer } from './orm-arena.ts'

export interface Started extends OrmServer {
  stop(): Promise<void>
}

const MOST_CONNECTIONS = 300

export const START: Readonly<Record<Dialect, () => Promise<Started>>> = {
  async pg() {
    const server = await startPostgres(undefined, '-c', `max_connections=${MOST_CONNECTIONS}`)
    const account = { user: 'postgres', password: 'secret', database: 'postgres' }
    const connection = { host: '127.0.0.1', port: server.port, ...account }
    const watcher = new pg.Pool(connection)
    await watcher.query('create unlogged table orm_writes (pk serial primary key, history int, id int)')
    await watcher.query('create index on orm_writes (history)')
    return {
      dialect: 'pg',
      connection,
      async written(history) {
        const sql = 'select id, count(*)::int as n from orm_writes where history = $1 group by id'
        return countsOf((await watcher.query(sql, [history])).rows)
      },
      async stop() {
        await watcher.end()
        await server.stop()
      },
    }
  },
  async mysql() {
    const server = await startMariadb(`--max-connections=${MOST_CONNECTIONS}`, '--innodb-flush-log-at-trx-commit=0')
    const account = { host: '127.0.0.1', port: server.port, user: 'root', password: '' }
    const first = await mysqlPromise.createConnection(account)
    await first.query('create database orms')
    await first.query(
      'create table orms.orm_writes (pk int auto_increment primary key, history int, id int, key (history)) engine = innodb',
    )
    await first.end()
    const connection = { ...account, database: 'orms' }
    const watcher = mysqlPromise.createPool(connection)
    return {
      dialect: 'mysql',
      connection,
      async written(history) {
        const sql = 'select id, count(*) as n from orm_writes where history = ? group by id'
        const [found] = await watcher.query(sql, [history])
        return countsOf(found as { id: number; n: number }[])
      },
      async stop() {
        await watcher.end()
        await server.stop()
      },
    }
  },
}

function countsOf(rows: readonly { readonly id: number; readonly n: number }[]): Map<number, number> {
  return new Map(rows.map(({ id, n }) => [id, n]))
}
