/**
 * `node --import meltproof/register app` protects every server of every kind of app, and lets the process end by
 * itself.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import { get, IMPORT, REGISTER, start } from './child.ts'

for (const app of ['http.cjs', 'http.mjs', 'https.mjs', 'express.cjs', 'fastify.mjs']) {
  describe(`register and ${app}`, () => {
    const secure = app === 'https.mjs'

    it('protects its server, and lets the process end when it closes', async () => {
      const child = start(app)
      const port = await child.port()
      assert.equal(await get(port, '/', secure), 'admitted 1')
      assert.equal(await get(port, '/', secure), 'admitted 2')
      await get(port, '/stop', secure)
      const { code, signal, stderr } = await child.ended
      assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' })
    })

    it('changes nothing with MELTPROOF=off', async () => {
      const child = start(app, { env: { MELTPROOF: 'off' } })
      const port = await child.port()
      assert.equal(await get(port, '/stop', secure), 'bare')
      assert.equal((await child.ended).code, 0)
    })
  })
}

describe('register', () => {
  for (const [takes, env] of Object.entries({ requests: {}, streams: { STREAMS: '1' } })) {
    it(`protects an HTTP/2 server that takes ${takes}`, async () => {
      const { code, stdout, stderr } = await start('http2.mjs', { env }).ended
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'admitted 1\n', stderr: '' })
    })
  }

  it('works from NODE_OPTIONS', async () => {
    const child = start('http.cjs', { node: [], env: { NODE_OPTIONS: `--import ${REGISTER}` } })
    assert.equal(await get(await child.port(), '/stop'), 'admitted 1')
    assert.equal((await child.ended).code, 0)
  })

  for (const app of ['http.cjs', 'http.mjs']) {
    it(`works from --require with ${app}`, async () => {
      const child = start(app, { node: ['--require', createRequire(import.meta.url).resolve('meltproof/register')] })
      assert.equal(await get(await child.port(), '/stop'), 'admitted 1')
      const { code, stderr } = await child.ended
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    })
  }

  it('protects once when it is loaded twice', async () => {
    const child = start('http.mjs', { node: [...IMPORT, '--import', `${REGISTER}?copy`] })
    assert.equal(await get(await child.port(), '/stop'), 'admitted 1')
    const { code, stderr } = await child.ended
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  })

  for (const WHEN of ['before', 'after']) {
    it(`shares its guard with an app that calls protect() ${WHEN} listen()`, async () => {
      const child = start('protects-itself.mjs', { env: { WHEN } })
      assert.equal(await get(await child.port(), '/stop'), 'admitted 1')
      const { code, stderr } = await child.ended
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    })
  }

  it('leaves listen() as it is, in all its forms and errors', async () => {
    const [bare, registered] = await Promise.all(
      [[], IMPORT].map(async node => {
        const { code, stdout, stderr } = await start('listen-forms.mjs', { node }).ended
        assert.equal(code, 0, stderr)
        return JSON.parse(stdout) as Record<string, { said: string; returned: boolean; called?: boolean } | string>
      }),
    )
    for (const [form, got] of Object.entries(registered!)) {
      const expected = bare![form]!
      if (typeof got === 'string' || typeof expected === 'string') assert.equal(got, expected, form)
      else {
        assert.equal(got.said, 'admitted 1', form)
        assert.deepEqual({ ...got, said: 'bare' }, expected, form)
      }
    }
    assert.equal(bare!['a port in use'], 'EADDRINUSE')
    assert.equal(bare!['listening twice'], 'ERR_SERVER_ALREADY_LISTEN')
    assert.equal(bare!['a bad argument'], 'ERR_INVALID_ARG_VALUE')
  })

  it('protects the workers of a cluster, which end with their primary', async () => {
    const child = start('cluster.mjs')
    const port = await child.port()
    for (let i = 0; i < 4; i++) assert.match(await get(port), /^admitted [12]$/)
    child.process.send('stop')
    const { code, signal } = await child.ended
    assert.deepEqual({ code, signal }, { code: 0, signal: null })
  })

  it('does not keep an app without a server alive', async () => {
    const { code, stdout, stderr } = await start('quiet.mjs').ended
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'ran\n', stderr: '' })
  })
})
