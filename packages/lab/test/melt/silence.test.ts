/** A trial with a silent dependency, with real sockets and a tenth of a second for each part. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../src/experiment/scenario.ts'
import { dependencyOf } from '../../src/melt/dependency.ts'
import { Silencer } from '../../src/melt/silence.ts'

const SHAPE = { beforeS: 0.1, spike: 0.8, spikeS: 0.2, afterS: 0.1, retries: 0, isOutage: true } as const

test('a dependency is silent for the given time, and the trial records whether it was used', async t => {
  const echo = net.createServer(socket => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  t.after(() => echo.close())
  const { port } = echo.address() as net.AddressInfo
  const context = {
    ...{ signal: new AbortController().signal, status: () => {} },
    cleanUp: (undo: () => Promise<void>) => t.after(undo),
  } as unknown as Context
  const silencer = await Silencer.before(dependencyOf('DB', { DB: `127.0.0.1:${port}` }), context)
  assert.throws(
    () => silencer.checkUsed(),
    /the command never connected to 127\.0\.0\.1:\d+; DB in its environment has this address/,
  )
  const socket = net.connect(Number(silencer.env['DB']!.split(':')[1]), '127.0.0.1')
  t.after(() => socket.destroy())
  const echoed = async (): Promise<void> => {
    socket.write('?')
    await once(socket, 'data')
  }
  await echoed()
  silencer.checkUsed()

  silencer.begin(SHAPE)
  const beganAt = performance.now()
  await echoed()
  await sleep(120)
  await echoed()
  assert.ok(performance.now() - beganAt > 290, 'it was answered during the silence')
  silencer.end()
  assert.equal(silencer.wasUsed, true)

  silencer.begin(SHAPE)
  await sleep(150)
  // An early end, for example by Ctrl-C, ends the silence.
  silencer.end()
  await echoed()
  assert.equal(silencer.wasUsed, false)
})
