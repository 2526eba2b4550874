/** Tests simulated walkers through HTTP and a real database, and the address at which phones join. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../packages/lab/src/launch/free-port.ts'
import { skipWithout } from '../../../packages/meltproof/test/installed.ts'
import { lanAddress } from '../src/lan.ts'
import type { TestDatabase } from './postgres.ts'
import { tideHere } from './tide-here.ts'

let database: TestDatabase
let origin: string
let end: () => Promise<void>

before(async () => {
  ;({ database, origin, end } = await tideHere({ lan: '192.168.7.7' }))
})
after(() => end())

const ask = (method: string, headers: Record<string, string> = {}) =>
  fetch(`${origin}/api/simulated`, { method, headers })
const rows = async () => Number((await database.query('SELECT count(*)::int AS count FROM positions'))[0]!['count'])
/** Number of walkers with at least two stored positions. */
const storedTwice = async () =>
  (await database.query('SELECT walker FROM positions GROUP BY walker HAVING count(*) >= 2')).length
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) if (await holds()) return
  throw new Error(`waited for: ${what}`)
}

test('a hundred simulated walkers walk on an empty shore, and are deleted at the end', {
  timeout: 120_000,
}, async () => {
  assert.equal((await ask('POST', { 'sec-fetch-site': 'cross-site' })).status, 403, 'not from pages of other sites')
  assert.equal((await ask('POST')).status, 204)
  await until('each of them is stored twice', async () => (await storedTwice()) === 100)
  const names = await database.query('SELECT name FROM walkers')
  assert.equal(names.length, 100)
  assert.ok(
    names.every(({ name }) => / \(sim\)$/.test(String(name))),
    'the names mark them as simulated',
  )
  assert.equal((await ask('POST')).status, 409, 'they walk already')
  const span = (await (await fetch(`${origin}/api/history/span`)).json()) as { first: number; last: number }
  const page = await (
    await fetch(`${origin}/api/history?from=${Math.floor(span.first)}&to=${Math.ceil(span.last)}`)
  ).json()
  assert.equal(
    new Set((page as { walkers: { key: string }[] }).walkers.map(({ key }) => key)).size,
    100,
    'each has its own key',
  )
  assert.equal((await ask('DELETE')).status, 204)
  assert.equal(await rows(), 0)
  assert.equal((await database.query('SELECT 1 FROM walkers')).length, 0)
})

test('this computer gets the LAN address for phones and may simulate, other hosts get their own address', async () => {
  const about = async (headers: Record<string, string>) =>
    (await new Promise<unknown>((resolve, reject) => {
      http
        .get(`${origin}/api/about`, { headers }, async answer => {
          let text = ''
          for await (const chunk of answer) text += chunk
          resolve(JSON.parse(text))
        })
        .on('error', reject)
    })) as { join: string | null; maySimulate: boolean }
  const { port } = new URL(origin)
  assert.deepEqual(await about({}), {
    keepDays: 30,
    join: `http://192.168.7.7:${port}/`,
    maySimulate: true,
    hasStorm: false,
  })
  assert.equal((await about({ host: 'beach.example' })).join, 'http://beach.example/')
  assert.equal((await about({ host: 'x'.repeat(300) })).join, null)
})

const noPhones = lanAddress() === undefined || process.platform === 'win32'
test('npm run phones makes a certificate for this address, keeps it, and serves https', {
  skip: noPhones || skipWithout('openssl', 'openssl'),
  timeout: 180_000,
}, async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'human-tide-phones-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const script = fileURLToPath(new URL('../scripts/phones.ts', import.meta.url))
  const certificates: string[] = []
  for (let turn = 0; turn < 2; turn++) {
    const port = await freePort()
    const env = { ...process.env, PORT: String(port), DATABASE_URL: database.url, DATA_DIR: folder }
    const phones = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(phones, 'exit')
    t.after(() => phones.kill('SIGKILL'))
    let said = ''
    phones.stdout.setEncoding('utf8').on('data', text => {
      said += text
    })
    await until('the service listens', async () => said.includes('phones of this network'))
    assert.match(said, /warns once that the connection is not private/)
    const ca = readFileSync(path.join(folder, 'tls/cert.pem'), 'utf8')
    certificates.push(ca)
    // A phone that trusts this certificate accepts the name in it.
    const status = await new Promise((resolve, reject) => {
      https
        .get(`https://${lanAddress()}:${port}/`, { ca }, answer => resolve(answer.resume().statusCode))
        .on('error', reject)
    })
    assert.equal(status, 200)
    phones.kill('SIGTERM')
    await ended
  }
  assert.equal(certificates[0], certificates[1], 'a valid certificate is kept, because phones would warn of a new one')
})

test('npm run phones without openssl says what to do', {
  skip: noPhones,
}, t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'human-tide-phones-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const script = fileURLToPath(new URL('../scripts/phones.ts', import.meta.url))
  assert.throws(
    () => execFileSync(process.execPath, [script], { env: { PATH: folder, DATA_DIR: folder }, stdio: 'pipe' }),
    (error: { status: number; stderr: Buffer }) => {
      assert.equal(error.status, 1)
      assert.match(error.stderr.toString(), /^There is no openssl here .* install it, or set TLS_CERT and TLS_KEY\.\n$/)
      return true
    },
  )
})
