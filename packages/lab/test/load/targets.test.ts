/**
 * Several targets, on several servers, with TLS: which server gets which request, and which target gets which figures.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:https'
import { after, before, describe, it } from 'node:test'
import type { LoadOutcome, LoadTarget } from '../../src/load/plan.ts'
import { runLoad } from '../../src/load/run.ts'
import { booksBalance, constant, httpServer, planFor, rawServer, total } from './servers.ts'
import { AUTHORITY, CLIENT, SERVER } from './certificates.ts'

const get = (url: string): LoadTarget => ({ url, method: 'GET', headers: {}, body: undefined })

const targetsBalance = (outcome: LoadOutcome): void => {
  const sum = (read: (target: LoadOutcome['targets'][number]) => number): number =>
    outcome.targets.reduce((all, target) => all + read(target), 0)
  assert.equal(
    sum(target => target.scheduled),
    outcome.scheduled,
  )
  assert.equal(
    sum(target => target.sent),
    outcome.sent,
  )
  assert.equal(
    sum(target => total(target.answered)),
    total(outcome.answered),
  )
  assert.equal(
    sum(target => total(target.failed)),
    total(outcome.failed),
  )
  assert.equal(
    sum(target => target.good),
    outcome.good,
  )
  assert.equal(
    sum(target => target.okLatency.count),
    outcome.okLatency.count,
  )
}

for (const threads of [1, 2]) {
  it(`targets are requested round robin, each server on its own connections (${threads} threads)`, async () => {
    const seen = { one: new Map<string, number>(), other: new Map<string, number>() }
    const sockets = { one: new Set(), other: new Set() }
    const listen = (name: keyof typeof seen) =>
      httpServer((request, response) => {
        const what = `${request.method} ${request.url} ${request.headers['x-name'] ?? ''}`
        seen[name].set(what, (seen[name].get(what) ?? 0) + 1)
        sockets[name].add(request.socket)
        request.resume().on('end', () => response.writeHead(request.url === '/bad' ? 500 : 200).end())
      })
    const [one, other] = await Promise.all([listen('one'), listen('other')])
    const outcome = await runLoad(
      planFor(`${one.url}first`, {
        others: [
          { ...get(`${other.url}second`), headers: { 'X-Name': 'two' } },
          { ...get(`${one.url}third`), method: 'POST', body: new Uint8Array([0, 255]) },
          { ...get(`${one.url}bad`), method: 'HEAD' },
        ],
        arrival: constant(400, 500),
        connections: { kind: 'keep-alive', count: 8, max: 200 },
        threads,
      }),
    )
    await Promise.all([one.close(), other.close()])
    booksBalance(outcome)
    targetsBalance(outcome)
    assert.deepEqual(Object.fromEntries(seen.one), { 'GET /first ': 50, 'POST /third ': 50, 'HEAD /bad ': 50 })
    assert.deepEqual(Object.fromEntries(seen.other), { 'GET /second two': 50 })
    assert.ok(sockets.one.size >= 2 && sockets.other.size >= 2)
    assert.deepEqual(
      outcome.targets.map(({ answered }) => answered),
      [{ 200: 50 }, { 200: 50 }, { 200: 50 }, { 500: 50 }],
    )
    assert.equal(outcome.bodyBytesSent, 100)
  })
}

it('a dead or silent server does not affect the other targets', async () => {
  const well = await httpServer((_, response) => response.end())
  const silent = await rawServer(() => {})
  const outcome = await runLoad(
    planFor(well.url, {
      others: [get(silent.url), get('http://nobody.invalid/')],
      arrival: constant(60, 500),
      connections: { kind: 'keep-alive', count: 3, max: 6 },
      timeoutMs: 300,
    }),
  )
  await Promise.all([well.close(), silent.close()])
  booksBalance(outcome)
  targetsBalance(outcome)
  const [first, second, third] = outcome.targets
  assert.deepEqual([first!.answered, first!.failed], [{ 200: 10 }, {}])
  assert.deepEqual(second!.answered, {})
  assert.deepEqual(third!.failed, { unresolved: 10 })
})

it('there are no figures by target for a single target or for more than 20', async () => {
  const server = await httpServer((_, response) => response.end())
  const one = await runLoad(planFor(server.url, { arrival: constant(100, 50) }))
  const others = Array.from({ length: 20 }, () => get(server.url))
  const many = await runLoad(planFor(server.url, { others, arrival: constant(100, 50) }))
  await server.close()
  assert.deepEqual([one.targets, many.targets], [[], []])
  assert.deepEqual(many.answered, { 200: 5 })
})

describe('runLoad over TLS', () => {
  let server: Server
  let url = ''
  before(async () => {
    server = createServer(
      { ...SERVER, ca: AUTHORITY, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const { authorized } = request.socket as import('node:tls').TLSSocket
        response.writeHead(authorized ? 200 : 403).end()
      },
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    url = `https://127.0.0.1:${(server.address() as { port: number }).port}/`
  })
  after(() => server.close())
  const sent = async (tls: Parameters<typeof planFor>[1]) => {
    const { answered, failed } = await runLoad(planFor(url, { arrival: constant(50, 100), ...tls }))
    return { answered, failed }
  }

  it('refuses an untrusted certificate unless insecure is set', async () => {
    assert.deepEqual((await sent({})).answered, {})
    assert.deepEqual(await sent({ tls: { insecure: true } }), { answered: { 403: 5 }, failed: {} })
  })

  it('trusts a given authority, and sends a client certificate', async () => {
    assert.deepEqual(await sent({ tls: { ca: AUTHORITY } }), { answered: { 403: 5 }, failed: {} })
    assert.deepEqual(await sent({ tls: { ca: AUTHORITY, ...CLIENT } }), { answered: { 200: 5 }, failed: {} })
  })
})
