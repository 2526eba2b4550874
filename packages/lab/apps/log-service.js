/**
 * The app of the logging scenario: phones post where they are, each position is stored in PostgreSQL, and each request
 * is logged as LOGGER says. GET /lab/cpu tells the CPU it has used, ms. GET /lab/end ends it with process.exit(); how many
 * lines it logged and its most memory go into the file LOGGED.
 *
 * LOGGER         none, console, morgan, pino, pino-worker or winston
 * BLOCKING       1: stdout is set to block, as Node's pipes were in 2013
 * DATABASE_URL   empty: a route without the database
 * WORKERS        more than 1: a cluster of so many
 */
import cluster from 'node:cluster'
import { writeFileSync } from 'node:fs'
import express from 'express'

const { LOGGER = 'none', BLOCKING, DATABASE_URL, LOGGED, PORT } = process.env
const workers = Number(process.env.WORKERS ?? 1)

if (BLOCKING === '1') process.stdout._handle?.setBlocking(true)

let logged = 0

/** Every logger is counted where it is called: a line logged is a line owed. */
const counted = log => (request, response) => {
  logged++
  log(request, response)
}

/** What an access log says of a request. */
const fields = ({ method, url, ip, headers }, { statusCode }) => ({
  method,
  url,
  status: statusCode,
  remote: ip,
  userAgent: headers['user-agent'],
})

const loggers = {
  none: async () => undefined,
  async console() {
    return counted((request, response) => {
      const { method, url, status, remote, userAgent } = fields(request, response)
      console.log(`${remote} [${new Date().toISOString()}] "${method} ${url}" ${status} "${userAgent}"`)
    })
  },
  async morgan() {
    const { default: morgan } = await import('morgan')
    const format = morgan.compile(morgan.combined)
    return counted((request, response) => process.stdout.write(`${format(morgan, request, response)}\n`))
  },
  async pino() {
    const { default: pino } = await import('pino')
    const logger = pino()
    return counted((request, response) => logger.info(fields(request, response), 'request'))
  },
  async 'pino-worker'() {
    const { default: pino } = await import('pino')
    const logger = pino(pino.transport({ target: 'pino/file', options: { destination: 1 } }))
    return counted((request, response) => logger.info(fields(request, response), 'request'))
  },
  async winston() {
    const { default: winston } = await import('winston')
    const logger = winston.createLogger({ transports: [new winston.transports.Console()] })
    return counted((request, response) => logger.info('request', fields(request, response)))
  },
}

if (workers > 1 && cluster.isPrimary) {
  for (let i = 0; i < workers; i++) cluster.fork()
} else {
  const log = await loggers[LOGGER]()
  const store = await database()
  const app = express()
  app.get('/lab/end', (_, response) => {
    response.json({})
    setTimeout(() => {
      // Node tells kilobytes.
      const peakBytes = process.resourceUsage().maxRSS * 1024
      if (LOGGED) writeFileSync(LOGGED, JSON.stringify({ logged, peakBytes }))
      process.exit(0)
    }, 50)
  })
  app.get('/lab/cpu', (_, response) => {
    const { user, system } = process.cpuUsage()
    response.json((user + system) / 1000)
  })
  app.use(async (request, response) => {
    await store()
    response.status(201).json({ stored: true })
    log?.(request, response)
  })
  app.listen(Number(PORT), '127.0.0.1')
}

async function database() {
  if (!DATABASE_URL) return () => undefined
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
  await pool.query('create table if not exists positions (id bigserial primary key, latitude float8, longitude float8)')
  return () => pool.query('insert into positions (latitude, longitude) values ($1, $2)', [53.33, -6.2])
}
