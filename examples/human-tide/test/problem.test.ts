/** Any thrown value is answered as a problem in JSON, without paths of our files. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { test } from 'node:test'
import express from 'express'
import { notFound, onError } from '../src/http/problem.ts'
import { Refusal } from '../src/refusal.ts'

/** Returns the answer of a route that throws `thrown`. */
async function answerTo(thrown: unknown): Promise<Response> {
  const app = express()
  app.get('/', () => {
    throw thrown
  })
  app.use(notFound)
  app.use(onError)
  const server: Server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    return await fetch(`http://127.0.0.1:${port}/`)
  } finally {
    server.close()
  }
}

/** Nested more deeply than JSON.stringify can follow. */
const deep = () => JSON.parse('['.repeat(15_000) + ']'.repeat(15_000))

for (const [what, thrown, status] of [
  ['a refusal', new Refusal(409, 'so-and-so', 'This is why', { more: [1] }), 409],
  ['a refusal with data that is nested too deeply', new Refusal(400, 'deep', 'Too deep', { deep: deep() }), 500],
  ['a refusal with data that JSON cannot contain', new Refusal(400, 'large', 'Too large', { large: 1n }), 500],
  ['a refusal with an impossible header', new Refusal(503, 'busy', 'Later', {}, 'a\nb' as never), 500],
  ['a refusal with an impossible status', new Refusal(7, 'seven', 'Seven'), 500],
  ['an error', new TypeError('undefined is not a function'), 500],
  [
    'an error that cannot be read',
    {
      get type() {
        throw new Error('no')
      },
    },
    500,
  ],
  ['a text', 'oh no', 500],
] as const) {
  test(`${what} is answered ${status} as a problem in JSON`, async context => {
    context.mock.method(console, 'error', () => {})
    const answer = await answerTo(thrown)
    const text = await answer.text()
    assert.equal(answer.status, status)
    assert.match(answer.headers.get('content-type')!, /^application\/problem\+json/)
    assert.equal(JSON.parse(text).status, status)
    assert.doesNotMatch(text, /node_modules|at .*:\d+|not a function/)
  })
}
