/** Closed loops against real sockets: the number of requests follows from the users. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runLoad } from '../../src/load/run.ts'
import { against, booksBalance, closedPort, httpServer, planFor, waitingServer } from '../load/servers.ts'

describe('runLoad: closed loop', () => {
  it('sends one request at a time for each user', async () => {
    const server = await waitingServer(20)
    const outcome = await against(server, {
      arrival: { kind: 'closed', users: 6, durationMs: 1000, thinkMs: 0 },
      connections: { kind: 'keep-alive', count: 6, max: 6 },
    })
    assert.equal(server.mostAtOnce(), 6)
    assert.ok(outcome.sent > 150 && outcome.sent <= 300, `${outcome.sent} sent`)
    assert.ok(outcome.okLatency.percentile(50) >= 19 && outcome.okLatency.percentile(50) < 35)
  })

  it('waits for the think time between requests', async () => {
    const server = await httpServer((_, res) => res.end('ok'))
    const outcome = await against(server, { arrival: { kind: 'closed', users: 4, durationMs: 1000, thinkMs: 100 } })
    assert.ok(outcome.sent >= 25 && outcome.sent <= 50, `${outcome.sent} sent`)
  })

  it('does not retry in a tight loop when the port is closed', async () => {
    const outcome = await runLoad(
      planFor(`http://127.0.0.1:${await closedPort()}/`, {
        arrival: { kind: 'closed', users: 3, durationMs: 1000, thinkMs: 0 },
      }),
    )
    booksBalance(outcome)
    assert.ok(outcome.sent >= 24 && outcome.sent <= 30, `${outcome.sent} sent`)
  })
})
