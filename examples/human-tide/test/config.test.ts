import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readConfig } from '../src/config.ts'

test('nothing set: this machine only, protected, a database of its own', () => {
  const { host, port, databaseUrl, protect, log, tls } = readConfig({})
  assert.deepEqual([host, port, databaseUrl, protect, log, tls], ['127.0.0.1', 3000, undefined, true, 'off', undefined])
})

for (const [variables, message] of [
  [{ PORT: '70000' }, /PORT expects a whole number from 0 to 65535, got "70000"/],
  [{ PORT: '' }, /PORT expects/],
  [{ PROXIES: 'nginx' }, /PROXIES expects a whole number from 0 to 10, got "nginx"/],
  [{ LOG: 'yes' }, /LOG expects off or console, got "yes"/],
  [{ PROTECT: 'no' }, /PROTECT expects on or off/],
  [{ TLS_CERT: 'a.pem' }, /TLS_CERT and TLS_KEY go together/],
] as const) {
  test(`${JSON.stringify(variables)} is refused`, () => assert.throws(() => readConfig(variables), message))
}

test('a wrong DATABASE_URL is not repeated: it may hold a password', () => {
  assert.throws(
    () => readConfig({ DATABASE_URL: 'mysql://me:secret@host/db' }),
    (error: Error) => /DATABASE_URL/.test(error.message) && !error.message.includes('secret'),
  )
})

test('a checkout below "my 100% code": the data is kept there', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'my 100% code '))
  mkdirSync(path.join(folder, 'src'))
  const copy = path.join(folder, 'src/config.ts')
  copyFileSync(fileURLToPath(new URL('../src/config.ts', import.meta.url)), copy)
  const there = (await import(pathToFileURL(copy).href)) as { readConfig: typeof readConfig }
  rmSync(folder, { recursive: true })
  assert.equal(there.readConfig({}).dataDir, path.join(folder, '.data'))
})
