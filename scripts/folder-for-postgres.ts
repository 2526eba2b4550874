/**
 * PostgreSQL does not run as root. If root runs the tests, they start PostgreSQL as the user `postgres`, who must be
 * able to enter every folder above the checkout. A folder made by `mktemp -d` is closed to other users.
 */
import { chmodSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, sep } from 'node:path'

/** Other users may enter the folder, but not list it. */
const PASS = 0o001

/**
 * As root, opens closed temporary folders from the root down to `folder` until the returned function is called. Reports
 * other closed folders above it.
 */
export function openToPostgres(folder: string, say: (text: string) => void): () => void {
  if (process.getuid?.() !== 0) return () => {}
  const closed = [...foldersTo(folder)]
    .map(path => ({ path, mode: statSync(path).mode }))
    .filter(({ mode }) => (mode & PASS) === 0)
  const temporary = closed.filter(({ path }) => path.startsWith(tmpdir() + sep))
  const others = closed.filter(each => !temporary.includes(each)).map(({ path }) => path)
  if (others.length > 0) {
    say(
      `PostgreSQL does not run as root, and its user cannot enter ${others.join(', ')}: tests that need it will fail. ` +
        `Run \`chmod o+x ${others.join(' ')}\`, or use a checkout elsewhere.`,
    )
  }
  for (const { path, mode } of temporary) chmodSync(path, mode | PASS)
  return () => {
    for (const { path, mode } of temporary) chmodSync(path, mode)
  }
}

function* foldersTo(folder: string): Generator<string> {
  for (let path = folder; ; path = dirname(path)) {
    yield path
    if (path === dirname(path)) return
  }
}
