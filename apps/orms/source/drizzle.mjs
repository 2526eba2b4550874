// Drizzle uses a pool of pg or mysql2.
import { sql } from 'drizzle-orm'
import { int, mysqlTable } from 'drizzle-orm/mysql-core'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { integer, pgTable } from 'drizzle-orm/pg-core'
import mysql from 'mysql2/promise'
import pg from 'pg'

export function open({ dialect, connection, size, bind }) {
  const isPg = dialect === 'pg'
  const pool = bind(
    isPg ? new pg.Pool({ ...connection, max: size }) : mysql.createPool({ ...connection, connectionLimit: size }),
  )
  pool.on('error', () => {})
  const db = isPg ? drizzlePg({ client: pool }) : drizzleMysql({ client: pool })
  const writes = isPg
    ? pgTable('orm_writes', { history: integer(), id: integer() })
    : mysqlTable('orm_writes', { history: int(), id: int() })
  const doing = on => ({
    insert: (history, id) => on.insert(writes).values({ history, id }),
    work: text => on.execute(sql.raw(text)),
    nested: run => on.transaction(inner => run(doing(inner))),
  })
  return {
    ...doing(db),
    transaction: run => db.transaction(tx => run(doing(tx))),
    close: () => pool.end(),
  }
}
