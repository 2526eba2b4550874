// `npm ci` refuses a lockfile that lacks a package for some platform. npm writes such a file if the registry did not
// yet have the package of that platform.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

type Locked = { version?: string; optionalDependencies?: Record<string, string> }

test('every optional dependency of a locked package is locked, too', () => {
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const missing = Object.entries(lock.packages).flatMap(([path, locked]) =>
    Object.keys(locked.optionalDependencies ?? {})
      .filter(name => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages))
      .map(name => `${path} ${locked.version}: ${name}`),
  )
  assert.deepEqual(missing, [])
})
