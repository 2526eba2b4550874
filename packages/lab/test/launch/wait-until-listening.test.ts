/** The choice between several ports of an app: an app that starts a database opens the port of the database first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { launch } from '../../src/launch/command.ts'
import { freePort } from '../../src/launch/free-port.ts'
import { type ReadyOptions, waitUntilListening } from '../../src/launch/wait-until-listening.ts'

interface Other {
  /** What the other port answers, to every path except `/metrics`. */
  readonly status: number
  /** When it closes. */
  readonly closesMs?: number
  /** When PORT opens; 60 s is later than any machine needs to find the first port. */
  readonly afterMs: number
}

/** Listens on a random port, and after a while on PORT. */
const twoPorts = ({ status, closesMs = 60_000, afterMs }: Other): string => `
  const answer = ({ url }, response) => response.writeHead(url === '/metrics' ? 200 : ${status}).end()
  const listen = port => require('http').createServer(answer).listen(port, '127.0.0.1')
  const other = listen(0)
  setTimeout(() => other.close(), ${closesMs})
  setTimeout(() => listen(process.env.PORT), ${afterMs})
`

const metrics = { method: 'GET', path: '/metrics', headers: {}, body: undefined }

for (const [what, other, isPort, more] of [
  ['PORT, if the others do not count', { status: 200, afterMs: 700 }, true, { onlyThere: true }],
  ['another port that answers', { status: 200, afterMs: 60_000 }, false, {}],
  ['another port that answers the given request', { status: 404, afterMs: 60_000 }, false, { request: metrics }],
  ['PORT, if another port answers only errors', { status: 404, afterMs: 1000 }, true, {}],
  ['PORT, if another port was open for a moment', { status: 404, closesMs: 120, afterMs: 800 }, true, {}],
  ['a port that answers only errors, at the end', { status: 404, afterMs: 60_000 }, false, { startTimeoutMs: 1500 }],
] as readonly (readonly [string, Other, boolean, Partial<ReadyOptions>])[]) {
  test(`waitUntilListening() takes ${what}`, async () => {
    const port = await freePort()
    const env = { ...process.env, PORT: String(port) }
    const app = await launch({ name: 'two ports', command: [process.execPath, '-e', twoPorts(other)], env })
    try {
      const { signal } = new AbortController()
      const usual = { url: undefined, preferredPort: port, startTimeoutMs: 20_000, signal }
      const { origin } = await waitUntilListening(app, { ...usual, ...more })
      assert.equal(origin === `http://127.0.0.1:${port}`, isPort, origin)
    } finally {
      await app.stop()
    }
  })
}
