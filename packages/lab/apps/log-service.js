/**
 * The app of the logging scenario: phones post their positions, PostgreSQL stores each position, and LOGGER logs each
 * request. GET /lab/cpu returns the CPU time used so far, ms. GET /lab/end ends the app with process.exit(), and writes
 * the number of logged lines and the peak memory to the file LOGGED.
 *
 * LOGGER         none, console, morgan, pino, pino-worker or winston
 * BLOCKING       1: stdout is set to block, as Node's pipes were in 2013
 * DATABASE_URL   empty: a route without the database
 * WORKERS        number of processes; above 1 they form a cluster
 */
import cluster from 'node:cluster'
import { writeFileSync } from 'node:fs'
import express from 'express'

const { LOGGER = 'none', BLOCKING, DATABASE_URL, LOGGED, PORT } = process.env
const workers = Number(process.env.WORKERS ?? 1)

if (BLOCKING === '1') process.stdout._handle?.setBlocking(true)

let logged = 0

/** Counts a line when the logger is called, because the reader should get each of these lines. */
const counted = log => (request, response) => {
  logged++
  log(request, response)
}

/** The fields of an access log. */
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
      // Node reports kilobytes.
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
