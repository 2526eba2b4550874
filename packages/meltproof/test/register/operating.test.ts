/** Operating an app without changing its code: a dry run, exempt paths, a limit, a deadline, readiness, draining. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { type Child, get, start } from './child.ts'

function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const read = (response: http.IncomingMessage): void => {
      response.resume()
      resolve(response.statusCode!)
    }
    http.get({ port, path, host: '127.0.0.1', agent: false }, read).on('error', reject)
  })
}

/** A deadline and a limit with room for one slow request, so that a second one cannot be served in time. */
const ONE_AT_A_TIME = { MELTPROOF_LIMIT: '1', MELTPROOF_DEADLINE: '700ms' }

async function besideASlowOne(env: Record<string, string>, path: string): Promise<number> {
  const child = start('slow.mjs', { env: { ...ONE_AT_A_TIME, ...env } })
  const port = await child.port()
  await get(port)
  const first = statusOf(port, '/slow')
  await sleep(100)
  const [status] = await Promise.all([statusOf(port, path), first])
  child.process.kill('SIGKILL')
  await child.ended
  return status
}

describe('register, set up by variables', () => {
  it('applies MELTPROOF_LIMIT and MELTPROOF_DEADLINE', async () => {
    assert.ok((await besideASlowOne({}, '/slow')) >= 503)
  })

  it('serves every request in a dry run', async () => {
    assert.equal(await besideASlowOne({ MELTPROOF_DRY_RUN: 'on', MELTPROOF_DEADLINE: '10s' }, '/slow'), 200)
  })

  it('announces a dry run once', async () => {
    const child = start('two-servers.mjs', { env: { MELTPROOF_DRY_RUN: 'on' } })
    for (let server = 0; server < 2; server++) assert.equal(await get(await child.port()), 'served')
    child.process.kill()
    const { stderr } = await child.ended
    assert.equal(stderr.match(/MeltproofWarning: meltproof\/register is in a dry run/g)?.length, 1, stderr)
  })

  it('has a readiness page', async () => {
    const child = start('slow.mjs', { env: { MELTPROOF_READINESS: '/is-ready' } })
    const page = JSON.parse(await get(await child.port(), '/is-ready')) as { ready: boolean }
    assert.equal(page.ready, true)
    child.process.kill('SIGKILL')
  })

  for (const [EXEMPT, path, exempt] of [
    ['', '/healthz', true],
    ['/slow-too', '/healthz', true],
    ['/slow-too', '/slow-too', true],
    ['none', '/healthz', false],
    ['', '/metrics', true],
    ['none', '/metrics', false],
  ] as const) {
    it(`${exempt ? 'exempts' : 'does not exempt'} ${path} with MELTPROOF_EXEMPT='${EXEMPT}'`, async () => {
      const child = start('http.mjs', { env: { MELTPROOF_EXEMPT: EXEMPT } })
      // The app responds with the number of admitted requests.
      assert.equal(await get(await child.port(), path), `admitted ${exempt ? 0 : 1}`)
      child.process.kill('SIGKILL')
    })
  }
})

describe('MELTPROOF=off', () => {
  it('keeps the pages of the admin port for probes, so that the app does not look dead', async () => {
    const admin = await freePort()
    const child = start('slow.mjs', { env: { MELTPROOF: 'off', MELTPROOF_ADMIN: `127.0.0.1:${admin}` } })
    assert.equal(await get(await child.port()), 'served')
    const paths = ['/live', '/startup', '/ready', '/metrics']
    assert.deepEqual(await Promise.all(paths.map(path => statusOf(admin, path))), [200, 200, 200, 404])
    child.process.kill('SIGTERM')
    const { signal, stderr } = await child.ended
    assert.deepEqual({ signal, stderr }, { signal: 'SIGTERM', stderr: '' })
  })
})

describe('SIGTERM', () => {
  async function signalled(
    child: Child,
    by: NodeJS.Signals = 'SIGTERM',
  ): Promise<[answer: string, Awaited<Child['ended']>]> {
    const port = await child.port()
    const answer = get(port, '/slow').catch((error: NodeJS.ErrnoException) => String(error.code))
    await sleep(200)
    child.process.kill(by)
    return [await answer, await child.ended]
  }

  it('ends the process at once, as in Node, without MELTPROOF_DRAIN', async () => {
    const [answer, { signal }] = await signalled(start('slow.mjs'))
    assert.deepEqual([answer, signal], ['ECONNRESET', 'SIGTERM'])
  })

  it('drains, and then ends the process by the signal', async () => {
    const [answer, { signal, stderr }] = await signalled(start('slow.mjs', { env: { MELTPROOF_DRAIN: 'on' } }))
    assert.deepEqual([answer, signal, stderr], ['served', 'SIGTERM', ''])
  })

  it('or SIGINT, which PM2 sends, drains, and then ends the process by that signal', async () => {
    const [answer, { signal, stderr }] = await signalled(
      start('slow.mjs', { env: { MELTPROOF_DRAIN: 'on' } }),
      'SIGINT',
    )
    assert.deepEqual([answer, signal, stderr], ['served', 'SIGINT', ''])
  })

  for (const ON_SIGTERM of ['exit', 'exit before']) {
    it(`drains before the listener of the app takes effect: ${ON_SIGTERM}`, async () => {
      const child = start('slow.mjs', { env: { MELTPROOF_DRAIN: 'on', ON_SIGTERM } })
      const [answer, { code }] = await signalled(child)
      assert.deepEqual([answer, code], ['served', 3])
    })
  }

  /** Sends a request on a new connection. Resolves with all that it receives, once its answer has begun. */
  async function open(port: number, path: string, head = ''): Promise<{ received: Promise<string> }> {
    const client = net.connect(port, '127.0.0.1')
    client.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n${head}\r\n`)
    const received = text(client)
    await once(client, 'readable')
    return { received }
  }
  const UPGRADE = 'connection: upgrade\r\nupgrade: test\r\n'

  for (const MELTPROOF_DRAIN of ['off', 'on']) {
    it(`lets the app end its WebSockets and event streams itself, MELTPROOF_DRAIN=${MELTPROOF_DRAIN}`, async () => {
      const child = start('endless.mjs', { env: { MELTPROOF_DRAIN, FAREWELL: 'yes' } })
      const port = await child.port()
      const clients = [await open(port, '/', UPGRADE), await open(port, '/')]
      child.process.kill('SIGTERM')
      for (const { received } of clients) assert.match(await received, /farewell/)
      assert.equal((await child.ended).code, 3)
    })
  }

  it('waits for an event stream that ends soon, also beside a WebSocket', async () => {
    const child = start('endless.mjs', { env: { MELTPROOF_DRAIN: 'on', FAREWELL: 'yes' } })
    const port = await child.port()
    const [socket, answer] = [await open(port, '/', UPGRADE), await open(port, '/answer')]
    child.process.kill('SIGTERM')
    assert.match(await answer.received, /the end/)
    assert.match(await socket.received, /farewell/)
  })

  for (const [ON_SIGTERM, expected] of [
    ['number', /^$/],
    ['throw', /Error: thrown by the listener/],
  ] as const) {
    it(`calls the listener of the app as Node does: ${ON_SIGTERM}`, async () => {
      const ends = []
      for (const MELTPROOF_DRAIN of ['on', 'off']) {
        const child = start('slow.mjs', { env: { MELTPROOF_DRAIN, ON_SIGTERM } })
        await child.port()
        child.process.kill('SIGTERM')
        const { code, signal, stderr } = await child.ended
        assert.match(stderr, expected)
        ends.push([code, signal])
      }
      assert.deepEqual(ends[0], ends[1])
    })
  }

  for (const LIBRARY of [
    ...['close()', 'close() as a promise', 'close() twice after another listen()'],
    ...['@godaddy/terminus', 'http-graceful-shutdown', 'http-terminator', 'stoppable'],
  ]) {
    it(`drains before the app shuts its server down by ${LIBRARY}, which succeeds`, async () => {
      const child = start('shuts-down.mjs', { env: { MELTPROOF_DRAIN: 'on', LIBRARY } })
      const [answer, { code, signal }] = await signalled(child)
      assert.deepEqual([answer, code, signal], ['served', 3, null])
    })
  }

  for (const [name, env, expected] of [
    ['ends by the signal', {}, [null, 'SIGTERM']],
    ['does what the app does', { ON_SIGTERM: 'exit' }, [3, null]],
  ] as const) {
    it(`drains the workers of a cluster when only the primary gets it, which then ${name}`, async () => {
      const child = start('slow.mjs', { env: { MELTPROOF_DRAIN: 'on', WORKERS: '2', ...env } })
      const [answer, { code, signal }] = await signalled(child)
      assert.deepEqual([answer, code, signal], ['served', ...expected])
    })
  }

  it('removes the sockets through which workers were connected', async t => {
    const TMPDIR = mkdtempSync(join(tmpdir(), 'met-'))
    t.after(() => rmSync(TMPDIR, { recursive: true }))
    const ports = {
      MELTPROOF_ADMIN: `127.0.0.1:${await freePort()}`,
      MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${await freePort()}`,
    }
    const child = start('slow.mjs', { env: { TMPDIR, MELTPROOF_DRAIN: 'on', WORKERS: '2', ...ports } })
    await child.port()
    assert.notDeepEqual(readdirSync(TMPDIR), [])
    child.process.kill('SIGTERM')
    await child.ended
    assert.deepEqual(readdirSync(TMPDIR), [])
  })

  it('ends the process at once when sent again', async () => {
    const child = start('slow.mjs', { env: { MELTPROOF_DRAIN: 'on' } })
    const port = await child.port()
    const answer = get(port, '/slower').catch((error: NodeJS.ErrnoException) => String(error.code))
    await sleep(200)
    child.process.kill('SIGTERM')
    await sleep(600)
    child.process.kill('SIGTERM')
    assert.equal(await answer, 'ECONNRESET')
    assert.equal((await child.ended).signal, 'SIGTERM')
  })

  it('sent twice within 20 ms, as npm does on Ctrl-C, counts as one', async () => {
    const child = start('slow.mjs', { env: { MELTPROOF_DRAIN: 'on' } })
    const port = await child.port()
    const answer = get(port, '/slow').catch((error: NodeJS.ErrnoException) => String(error.code))
    await sleep(200)
    child.process.kill('SIGINT')
    await sleep(20)
    child.process.kill('SIGINT')
    assert.equal(await answer, 'served')
    assert.equal((await child.ended).signal, 'SIGINT')
  })

  it('ends a process without requests at once', async () => {
    const child = start('idle.mjs', { env: { MELTPROOF_DRAIN: 'on' } })
    await child.port()
    child.process.kill('SIGTERM')
    assert.equal((await child.ended).signal, 'SIGTERM')
  })
})
