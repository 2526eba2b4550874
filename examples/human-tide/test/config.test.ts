import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readConfig } from '../src/config.ts'

test('without variables, the service listens on this machine only, is protected, and has its own database', () => {
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
  test(`${JSON.stringify(variables)} is rejected`, () => assert.throws(() => readConfig(variables), message))
}

test('the error for an invalid DATABASE_URL does not repeat it, as it may contain a password', () => {
  assert.throws(
    () => readConfig({ DATABASE_URL: 'mysql://me:secret@host/db' }),
    (error: Error) => /DATABASE_URL/.test(error.message) && !error.message.includes('secret'),
  )
})

test('data is kept in the checkout, even below "my 100% code"', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'my 100% code '))
  mkdirSync(path.join(folder, 'src'))
  const copy = path.join(folder, 'src/config.ts')
  copyFileSync(fileURLToPath(new URL('../src/config.ts', import.meta.url)), copy)
  const there = (await import(pathToFileURL(copy).href)) as { readConfig: typeof readConfig }
  rmSync(folder, { recursive: true })
  assert.equal(there.readConfig({}).dataDir, path.join(folder, '.data'))
})
