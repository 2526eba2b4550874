/** Templated requests: those that arrive at a server, and those that the outcome lists as acknowledged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLoad } from '../../src/load/run.ts'
import { constant, httpServer, planFor } from './servers.ts'

for (const threads of [1, 2]) {
  test(`each number is sent once, and those answered 2xx are acknowledged (${threads} thread(s))`, async () => {
    const seen: string[] = []
    const answered: number[] = []
    const server = await httpServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', piece => {
        body += piece
      })
      request.on('end', () => {
        const { sender, turn, at } = JSON.parse(body) as { sender: number; turn: number; at: number }
        assert.ok(Math.abs(Date.now() - at) < 60_000)
        assert.equal(request.headers['x-sender'], String(sender))
        const number = (turn - 1e9) * 10 + (sender - 1e9)
        seen.push(`${sender} ${turn}`)
        const good = number % 3 !== 0
        if (good) answered.push(number)
        response.writeHead(good ? 200 : 503).end()
      })
    })
    const outcome = await runLoad(
      planFor(server.url, {
        method: 'POST',
        headers: { 'x-sender': '1{{sender 10}}' },
        body: '{"sender":1{{sender 10}},"turn":1{{turn 10}},"at":{{timestamp}}}',
        arrival: constant(500, 400),
        threads,
        // A busy machine may take seconds, and an answer after the timeout is not acknowledged.
        timeoutMs: 20_000,
        connectTimeoutMs: 20_000,
        templated: true,
        acknowledged: true,
      }),
    )
    await server.close()
    assert.equal(new Set(seen).size, outcome.sent)
    assert.equal(outcome.sent, 200)
    assert.deepEqual(
      outcome.acknowledged.toSorted((a, b) => a - b),
      answered.toSorted((a, b) => a - b),
    )
    assert.equal(outcome.acknowledged.length, outcome.answered['200'])
  })
}

test('outcome.acknowledged is empty for a run without templates, and zero senders are refused', async () => {
  const server = await httpServer((_request, response) => response.end())
  const outcome = await runLoad(planFor(server.url, { arrival: constant(100, 100) }))
  await server.close()
  assert.deepEqual(outcome.acknowledged, [])
  await assert.rejects(
    runLoad(planFor(server.url, { body: '{{sender 0}}', templated: true })),
    /senders must be at least 1/,
  )
})
