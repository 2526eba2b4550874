/** install() with every client that it covers, against a dependency in another thread that is silent, stuck or late. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { blackhole } from '../../../lab/test/load/blackhole.ts'
import { now } from '../../src/clock.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { install } from '../../src/outbound/install.ts'
import type { OutboundLimits } from '../../src/outbound/limits.ts'
import { block } from '../block.ts'
import { CLIENTS, codesOf, exceeded, overHttp } from './clients.ts'
import { startDependency } from './dependency.ts'

const dependency = await startDependency()
/** How much later than its limit a verdict may be here, on a busy machine. The benchmark has the real figures. */
const LATE_MS = 2_000

const FOLLOWS_REDIRECTS = new Set(['fetch', 'axios', 'got', 'ky', 'node-fetch'])
/** For any broken chunked body, node-fetch reports "Premature close" without a cause. */
const HIDES_THE_CAUSE = 'node-fetch'

let uninstall: (() => void) | undefined
const withLimits = (limits: OutboundLimits): void => {
  uninstall = install(limits)
}
/** An ended call leaves no timer and nothing open. */
afterEach(async () => {
  for (let i = 0; i < 200 && pendingFairTimers() > 0; i++) await sleep(10)
  assert.equal(pendingFairTimers(), 0)
  uninstall?.()
})

for (const [name, client] of Object.entries(CLIENTS)) {
  describe(name, () => {
    test('a response within the limits passes unchanged', async () => {
      withLimits({})
      assert.equal(await client(`${dependency.url}/hello`), 'hello')
      assert.equal((await client(`${dependency.url}/big?bytes=3000000`)).length, 3_000_000)
      if (FOLLOWS_REDIRECTS.has(name)) assert.equal(await client(`${dependency.url}/redirect`), 'hello')
      const body = 'x'.repeat(1_000_000)
      assert.equal(await client(`${dependency.url}/echo-length`, { body }), '1000000')
    })

    test('firstByteMs ends a call without a first byte', async () => {
      withLimits({ firstByteMs: 100 })
      const startMs = now()
      const error = await exceeded(client(`${dependency.url}/silent`))
      const tookMs = now() - startMs
      assert.ok(tookMs >= 99 && tookMs < 100 + LATE_MS, `${tookMs} ms`)
      assert.match(error.message, /for the first byte of the answer/)
    })

    test('idleMs ends a call whose body stops', async () => {
      withLimits({ idleMs: 100 })
      const error = await exceeded(client(`${dependency.url}/stuck`))
      assert.match(error.message, /for the next byte of the answer \(100 bytes had arrived\)/)
    })

    test('totalMs ends a call whose body takes too long', async () => {
      withLimits({ totalMs: 200 })
      const call = client(`${dependency.url}/drip?ms=20`)
      if (name === HIDES_THE_CAUSE) {
        await assert.rejects(call, { code: 'ERR_STREAM_PREMATURE_CLOSE' })
        return
      }
      const error = await exceeded(call)
      assert.match(error.message, /for the whole answer \([1-9]\d* bytes had arrived\)/)
    })

    test('connectMs ends a call that gets no connection', async () => {
      withLimits({ connectMs: 150 })
      const hole = await blackhole()
      try {
        const error = await exceeded(client(`http://127.0.0.1:${hole.port}/`))
        assert.match(error.message, /for a connection/)
      } finally {
        hole.close()
      }
    })

    test('a response that arrived while the event loop of this process was blocked never becomes a timeout', async () => {
      withLimits({ totalMs: 600, firstByteMs: 600 })
      await client(`${dependency.url}/hello`)
      for (let round = 0; round < 3; round++) {
        const calls = Array.from({ length: 5 }, () => client(`${dependency.url}/hello?ms=50`))
        // Blocks in an I/O callback while the responses are on their way, just before the timers phase.
        await client(`${dependency.url}/hello`)
        block(700)
        assert.deepEqual(await Promise.all(calls), Array(5).fill('hello'))
      }
    })

    test('an abort by the caller rejects with the error of the caller', async () => {
      withLimits({})
      const abort = new AbortController()
      const call = client(`${dependency.url}/silent`, { signal: abort.signal })
      setTimeout(() => abort.abort(), 50)
      await assert.rejects(call, error => !/Deadline/.test(String((error as Error).message)))
    })

    test('calls beyond maxInFlight of an origin are refused until a body has ended', async () => {
      withLimits({ origins: { [dependency.url]: { maxInFlight: 2, idleMs: 300 } } })
      const held = [client(`${dependency.url}/stuck`), client(`${dependency.url}/hello?ms=100`)]
      await assert.rejects(client(`${dependency.url}/hello`), error =>
        codesOf(error).includes('MELTPROOF_OUTBOUND_FULL'),
      )
      assert.equal(await held[1], 'hello')
      assert.equal(await client(`${dependency.url}/hello`), 'hello')
      await exceeded(held[0]!)
    })
  })
}

test('minBytesPerSecond ends a body that only drips, for all clients', async () => {
  withLimits({ minBytesPerSecond: 64, totalMs: 20_000 })
  const errors = await Promise.all(
    Object.entries(CLIENTS)
      .filter(([name]) => name !== HIDES_THE_CAUSE)
      .map(([, client]) => exceeded(client(`${dependency.url}/drip?ms=80`))),
  )
  for (const error of errors) assert.match(error.message, /for an answer that arrived too slowly \([1-9]\d* bytes/)
})

test('over TLS, a handshake within connectMs succeeds, and firstByteMs applies', async () => {
  withLimits({ firstByteMs: 200, connectMs: 5_000 })
  assert.equal(await overHttp(`${dependency.secureUrl}/hello`), 'hello')
  assert.match((await exceeded(overHttp(`${dependency.secureUrl}/silent`))).message, /first byte/)
})

test('connectMs covers a TLS handshake that gets no answer', async () => {
  withLimits({ connectMs: 200 })
  // The other side is a deaf plain TCP listener, which never answers the ClientHello.
  const { createServer } = await import('node:net')
  const deaf = createServer(socket => socket.on('error', () => undefined))
  await new Promise<void>(resolve => deaf.listen(0, '127.0.0.1', resolve))
  const { port } = deaf.address() as { port: number }
  try {
    assert.match((await exceeded(overHttp(`https://127.0.0.1:${port}/`))).message, /for a connection/)
  } finally {
    deaf.close()
  }
})
