/** Answers of the admin port to Kubernetes' probes, under load and after a blocked event loop. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { eventually } from '../server/harness.ts'
import { get, start } from './child.ts'

/** Below the ports that the system assigns, and different from those of admin.test.ts. */
let nextPort = 10_000 + (process.pid % 9000)

async function statusOf(port: number, path: string): Promise<number> {
  const [response] = (await once(http.get({ port, path, host: '127.0.0.1', agent: false }), 'response')) as [
    http.IncomingMessage,
  ]
  response.resume()
  return response.statusCode!
}

it('the startup probe fails before a server of the app listens', async () => {
  const admin = nextPort++
  const child = start('blocks.mjs', { env: { MELTPROOF_ADMIN: `127.0.0.1:${admin}`, WAITS: 'on' } })
  await once(child.process, 'message')
  await assert.rejects(statusOf(admin, '/startup'), /ECONNREFUSED/)
  child.process.send('listen')
  await child.port()
  await eventually('it has started', () =>
    statusOf(admin, '/startup').then(
      status => status === 200,
      () => false,
    ),
  )
  child.process.kill('SIGKILL')
})

it('the process is live, started and ready while it sheds', async () => {
  const admin = nextPort++
  const env = { MELTPROOF_ADMIN: `127.0.0.1:${admin}`, MELTPROOF_LIMIT: '1', RELEASE: '/nowhere' }
  const child = start('blocks.mjs', { env })
  const port = await child.port()
  await eventually('it has started', () =>
    statusOf(admin, '/startup').then(
      status => status === 200,
      () => false,
    ),
  )
  const load = setInterval(() => {
    http
      .get({ port, path: '/hold', host: '127.0.0.1', agent: false }, response => response.resume())
      .on('error', () => {})
  }, 5)
  try {
    await eventually('it sheds', async () => {
      const { ready, pressure } = JSON.parse(await get(admin, '/ready')) as { ready: boolean; pressure: number }
      assert.equal(ready, true)
      assert.deepEqual([await statusOf(admin, '/live'), await statusOf(admin, '/startup')], [200, 200])
      return pressure > 0.5
    })
  } finally {
    clearInterval(load)
    child.process.kill('SIGKILL')
  }
})

it('a liveness probe sent while the event loop was blocked is answered afterwards', async context => {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-blocks-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const release = join(folder, 'release')
  const admin = nextPort++
  const child = start('blocks.mjs', { env: { MELTPROOF_ADMIN: `127.0.0.1:${admin}`, RELEASE: release } })
  const port = await child.port()
  await eventually('it lives', () =>
    statusOf(admin, '/live').then(
      status => status === 200,
      () => false,
    ),
  )
  const blocked = get(port, '/block')
  await eventually('it is blocked', () => Promise.resolve(existsSync(`${release}.blocks`)))
  const probe = net.connect(admin, '127.0.0.1')
  let answer = ''
  probe.setEncoding('utf8').on('data', data => {
    answer += data
  })
  await once(probe, 'connect')
  probe.write('GET /live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  assert.equal(answer, '')
  writeFileSync(release, '')
  await once(probe, 'end')
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.equal(await blocked, 'released')
  child.process.kill('SIGKILL')
})
