/**
 * PostgreSQL does not run as root: started by root, the tests run it as the user `postgres`, who must be able to enter every
 * folder above the checkout. A folder that `mktemp -d` made is closed to other users.
 */
import { chmodSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, sep } from 'node:path'

/** Others may pass through the folder, though not list it. */
const PASS = 0o001

/**
 * As root, opens closed temporary folders above and including `folder` until the returned function is called, and says
 * which other closed folders are in the way.
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
