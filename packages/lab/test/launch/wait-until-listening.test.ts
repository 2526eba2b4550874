/** The choice between several ports of an app: an app that starts a database opens the port of the database first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { launch } from '../../src/launch/command.ts'
import { freePort } from '../../src/launch/free-port.ts'
import { waitUntilListening } from '../../src/launch/wait-until-listening.ts'

/** Listens on a random port, and after a while on PORT. */
const twoPorts = (afterMs: number): string => `
  const net = require('net')
  const listen = port => net.createServer(socket => socket.end()).listen(port, '127.0.0.1')
  listen(0)
  setTimeout(() => listen(process.env.PORT), ${afterMs})
`

for (const onlyThere of [true, false]) {
  test(`waitUntilListening() waits for PORT ${onlyThere ? 'only' : 'or any other port'}`, async () => {
    const port = await freePort()
    const env = { ...process.env, PORT: String(port) }
    const app = await launch({
      name: 'two ports',
      // 60 s is later than any machine needs to find the first port.
      command: [process.execPath, '-e', twoPorts(onlyThere ? 700 : 60_000)],
      env,
    })
    try {
      const { signal } = new AbortController()
      const { origin } = await waitUntilListening(app, {
        url: undefined,
        preferredPort: port,
        onlyThere,
        startTimeoutMs: 20_000,
        signal,
      })
      assert.equal(origin === `http://127.0.0.1:${port}`, onlyThere, origin)
    } finally {
      await app.stop()
    }
  })
}
