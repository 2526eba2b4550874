/** Express in CommonJS, started by npm start with meltproof/register. Every call has a bound. */
const http = require('node:http')
const express = require('express')
const { Pool } = require('pg')

const pool = new Pool({
  host: '127.0.0.1',
  port: Number(process.env.PG_PORT),
  user: 'postgres',
  password: 'secret',
  connectionTimeoutMillis: 2000,
  query_timeout: 2000,
})

const app = express()
app.get('/', (_request, response) => response.send('hello'))
app.get('/user', async (_request, response) => response.json((await pool.query('select 1 as one')).rows))
app.get('/price', async (_request, response) => {
  const answer = await fetch(process.env.BACKEND, { signal: AbortSignal.timeout(2000) })
  response.send(await answer.text())
})
app.get('/stock', (_request, response, next) => {
  const request = http.get(process.env.BACKEND, { timeout: 2000 }, answer => answer.pipe(response))
  request.on('timeout', () => request.destroy(new Error('too slow')))
  request.on('error', next)
})
app.get('/signal', (_request, response, next) => {
  const options = { signal: AbortSignal.timeout(2000) }
  http.get(process.env.BACKEND, options, answer => answer.pipe(response)).on('error', next)
})
// Like node-fetch.
app.get('/listener', (_request, response, next) => {
  const request = http.get(process.env.BACKEND, answer => answer.pipe(response)).on('error', next)
  AbortSignal.timeout(2000).addEventListener('abort', () => request.destroy(new Error('too slow')))
})
const server = app.listen(process.env.PORT, () => console.log('listening'))
process.once('SIGTERM', () => server.close(() => pool.end()))
