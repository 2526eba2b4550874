/** Starts the service and, without DATABASE_URL, its own PostgreSQL: `npm start -w human-tide`. */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { protect } from 'meltproof'
import encodeQR from 'qr'
import { readConfig } from './config.ts'
import { embeddedDatabase } from './database/embedded.ts'
import { isEveryAddress, lanAddress } from './lan.ts'
import { Storm } from './storm.ts'
import { createTide } from './tide.ts'

const config = readConfig(process.env)
const database = config.databaseUrl === undefined ? await embeddedDatabase(config.dataDir) : undefined
const lan = isEveryAddress(config.host) ? lanAddress() : undefined
const tide = createTide({
  databaseUrl: database?.url ?? config.databaseUrl!,
  log: config.log,
  keepDays: config.keepDays,
  proxies: config.proxies,
  lan,
  storm: new Storm(config.stormPort),
})

const server = config.tls
  ? https.createServer({ cert: readFileSync(config.tls.cert), key: readFileSync(config.tls.key) }, tide.app)
  : http.createServer(tide.app)
// Maximum time for a phone to send a request, ms: a few hundred bytes over a very slow network.
server.requestTimeout = 15_000
// Idle time before a connection is closed, ms: a phone keeps its connection during a short loss of signal.
server.keepAliveTimeout = 30_000

if (config.protect) protect(server)

server.once('error', error => {
  console.error(`human-tide can not listen on ${config.host}:${config.port}: ${error.message}`)
  process.exit(1)
})
server.listen(config.port, config.host, () => {
  const { port } = server.address() as { port: number }
  const at = (host: string): string => `${config.tls ? 'https' : 'http'}://${host}:${port}/`
  const here = at(isEveryAddress(config.host) ? 'localhost' : config.host)
  console.log(`walk:  ${here}\nwatch: ${here}shore`)
  if (lan === undefined) return
  console.log(`phones of this network: ${at(lan)}`)
  // Browsers report a position only over https.
  if (config.tls && process.stdout.isTTY) console.log(encodeQR(at(lan), 'term'))
})

let stopping = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping) process.exit(1) // The second Ctrl-C exits at once.
    stopping = true
    void stop()
  })
}

/** Answers pending requests, then closes the database. Acknowledged positions are already stored. */
async function stop(): Promise<void> {
  tide.endLiveStreams()
  const closed = new Promise(resolve => server.close(resolve))
  server.closeIdleConnections()
  const patience = setTimeout(() => server.closeAllConnections(), 5000)
  await closed
  clearTimeout(patience)
  await tide.close()
  await database?.stop()
  process.exit(0)
}
