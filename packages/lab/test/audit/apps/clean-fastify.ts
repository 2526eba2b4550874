/** Fastify in TypeScript and ES modules. meltproof bounds its calls, and its log does not block. */
import { fastify } from 'fastify'
import { install } from 'meltproof/outbound'
import { bound } from 'meltproof/mysql2'
import { bound as boundPg } from 'meltproof/pg'
import { install as installStdout } from 'meltproof/stdout'
import mysql from 'mysql2/promise'
import pg from 'pg'

install({ totalMs: 2000 })
installStdout()
const { PG_PORT, MYSQL_PORT, BACKEND, PORT } = process.env
const pool = boundPg(new pg.Pool({ host: '127.0.0.1', port: Number(PG_PORT), user: 'postgres', password: 'secret' }))
const mysqlPool = bound(mysql.createPool({ host: '127.0.0.1', port: Number(MYSQL_PORT), user: 'root' }))

const app = fastify({ logger: true, requestTimeout: 30_000 })
app.get('/', async () => 'hello')
app.get('/user', async () => (await pool.query('select 1 as one')).rows)
app.get('/orders', async () => (await mysqlPool.query('select 1'))[0])
app.get('/price', async () => (await fetch(BACKEND!)).text())
process.once('SIGTERM', async () => {
  await app.close()
  await Promise.all([pool.end(), mysqlPool.end()])
})
await app.listen({ port: Number(PORT) })
