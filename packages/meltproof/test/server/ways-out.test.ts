/**
 * Whatever a client does to end the permit of a handler that keeps working, at most twice the limit of handlers work,
 * and no permit leaks.
 */
import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { protect } from '../../src/index.ts'
import { eventually } from './harness.ts'
import {
  HTTP1_WAYS,
  HTTP2_WAYS,
  type Http1Way,
  type Http2Way,
  PROTOCOLS,
  type Protocol,
  serverFor,
  type Visit,
  visit,
} from './ways-out.ts'

const LIMIT = 16
const CLIENTS = 48
/** A client that waits for a permit leaves after this time, ms. */
const PATIENCE_MS = 15

interface Case {
  readonly protocol: Protocol
  readonly name: string
  readonly way: Http1Way | Http2Way
}

const CASES: readonly Case[] = PROTOCOLS.flatMap(protocol => {
  const ways: readonly (Http1Way | Http2Way)[] =
    protocol.startsWith('http2') || protocol === 'raw streams' ? HTTP2_WAYS : HTTP1_WAYS
  const fit = ways.filter(way => !('secure' in way) || protocol === 'https')
  return fit.map(way => ({ protocol, name: `${protocol}: ${way.name}`, way }))
})

/** Handlers wait until the test lets them continue. */
class Dependency {
  came = 0
  working = 0
  most = 0
  readonly #let = Promise.withResolvers<void>()

  readonly work = async (): Promise<void> => {
    this.came++
    this.most = Math.max(this.most, ++this.working)
    await this.#let.promise
    this.working--
  }

  recover(): void {
    this.#let.resolve()
  }
}

async function serve({ protocol, way }: Case, isProtected = true) {
  const dependency = new Dependency()
  const server = serverFor(protocol, way, dependency.work) as Server
  const guard = isProtected ? protect(server, { limit: LIMIT, lanes: 1 }) : undefined
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const close = (): void => {
    dependency.recover()
    server.close()
    server.closeAllConnections?.()
    guard?.close()
  }
  return { dependency, server, guard, port, close }
}

describe('however clients leave, at most twice the limit of handlers work', { concurrency: 4 }, () => {
  for (const each of CASES) {
    it(each.name, async t => {
      const { dependency, server, guard, port, close } = await serve(each)
      t.after(close)
      const clients = []
      for (let i = 0; i < CLIENTS; i++) {
        const { came } = dependency
        const client = await visit(each.protocol, each.way, port)
        clients.push(client)
        for (const untilMs = Date.now() + PATIENCE_MS; dependency.came === came && Date.now() < untilMs; )
          await sleep(1)
        client.go(server)
        await sleep(1)
        if (each.way.answered !== true && dependency.came === came) client.leave()
      }
      await sleep(100)
      const { most } = dependency
      const { inflight } = guard!.stats()
      for (const client of clients) client.leave()
      dependency.recover()
      assert.ok(most >= LIMIT && most <= 2 * LIMIT, `${most} at work, ${inflight} in service`)
      await eventually('all handlers have ended', () => dependency.working === 0)
      await eventually('no permit is held', () => {
        const { abandoned, inflight, queued } = guard!.stats()
        return inflight === 0 && queued === 0 && abandoned === 0
      })
    })
  }
})

/**
 * A client whose handler works. On a slow machine Node's timeout may end the request before, and then it is repeated.
 */
async function begun({ protocol, way }: Case, port: number, dependency: Dependency): Promise<Visit> {
  for (;;) {
    const client = await visit(protocol, way, port)
    let closed = false
    void client.closed.then(() => {
      closed = true
    })
    await eventually('its handler works', () => dependency.working > 0 || closed)
    if (dependency.working > 0) return client
    client.leave()
  }
}

describe('a client sees the same with and without meltproof', { concurrency: 4 }, () => {
  for (const each of CASES) {
    it(each.name, async t => {
      const seen: string[] = []
      for (const isProtected of [false, true]) {
        const { dependency, server, port, close } = await serve(each, isProtected)
        t.after(close)
        const client = await begun(each, port, dependency)
        if (each.way.work?.headFirst) await eventually('it has the head', () => client.received().includes('200 '))
        client.go(server)
        if (each.way.answered !== true) await client.closed
        dependency.recover()
        await eventually('all handlers have ended', () => dependency.working === 0)
        if (each.way.answered) await eventually('it is answered', () => client.received().includes('done'))
        seen.push(client.received().replace(/^date: .*$/gim, 'date'))
        client.leave()
      }
      assert.equal(seen[1], seen[0])
    })
  }
})
