/** Every cause that melts a service, with one path each. PG_PORT, MYSQL_PORT and BACKEND name the dependencies. */
import { pbkdf2Sync } from 'node:crypto'
import http from 'node:http'
import mysql from 'mysql2/promise'
import pg from 'pg'

const backend = process.env.BACKEND
const pool = new pg.Pool({ host: '127.0.0.1', port: Number(process.env.PG_PORT), user: 'postgres', password: 'secret' })
const mysqlPool = mysql.createPool({ host: '127.0.0.1', port: Number(process.env.MYSQL_PORT), user: 'root' })
const narrow = new http.Agent({ keepAlive: true, maxSockets: 1 })

async function loadPrice() {
  return (await fetch(`${backend}/price`)).text()
}

function loadStock() {
  return get(`${backend}/stock`, {})
}

function loadThroughNarrowAgent() {
  return get(`${backend}/narrow`, { agent: narrow, timeout: 2000 })
}

function get(url, options) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, options, response => response.resume().once('end', resolve))
    request.once('error', reject)
    request.once('timeout', () => request.destroy(new Error('too slow')))
    if (!options.timeout) request.setTimeout(0) // like axios without a timeout
  })
}

async function loadUser() {
  return (await pool.query('select 1')).rows
}

/** Most of its queries wait for a connection that another query releases. */
async function loadFriends() {
  return (await Promise.all(Array.from({ length: 15 }, () => pool.query('select 2')))).length
}

async function loadOrders() {
  return (await mysqlPool.query('select 1'))[0]
}

function hashPassword() {
  const until = performance.now() + 120
  while (performance.now() < until) pbkdf2Sync('password', 'salt', 2000, 64, 'sha512')
}

function log(request) {
  console.log(`${request.method} ${request.url}`)
}

const routes = { loadPrice, loadStock, loadThroughNarrowAgent, loadUser, loadFriends, loadOrders, hashPassword, log }

const server = http.createServer(async (request, response) => {
  try {
    await routes[request.url.slice(1)]?.(request)
    response.end('ok')
  } catch (error) {
    response.statusCode = 500
    response.end(String(error))
  }
})
server.headersTimeout = 0
server.requestTimeout = 0
server.listen(process.env.PORT)
