/** Limits on cancellations and on replaced connections, tested without a database. */
import assert from 'node:assert/strict'
import net, { type AddressInfo } from 'node:net'
import { test } from 'node:test'
import pg from 'pg'
import { BoundPool } from '../../src/databases/bound-pool.ts'
import { type CancellationOutcome, Cancellations } from '../../src/databases/cancellations.ts'
import { pgCancellation } from '../../src/databases/pg-cancel.ts'
import type { PgClient } from '../../src/databases/pg-shapes.ts'

test('at most eight cancellations run at once, and one withdrawn in time is never sent', () => {
  const cancellations = new Cancellations()
  const begun: ((outcome: CancellationOutcome) => void)[] = []
  const over: string[] = []
  const takeBack = Array.from({ length: 10 }, (_, i) =>
    cancellations.run(
      done => {
        begun.push(done)
        return () => done('unsent')
      },
      outcome => over.push(`${i} ${outcome}`),
    ),
  )
  assert.equal(begun.length, 8)
  assert.equal(takeBack[8]!(), true)
  assert.equal(takeBack[0]!(), false)
  begun[0]!('processed')
  begun[0]!('unknown')
  assert.equal(begun.length, 9)
  begun[8]!('processed')
  assert.deepEqual(over, ['0 processed', '9 processed'])
})

test('a cancellation that throws counts as unsent, and the next one begins', () => {
  const cancellations = new Cancellations()
  const over: CancellationOutcome[] = []
  for (let i = 0; i < 20; i++) {
    cancellations.run(
      () => {
        throw new Error('no')
      },
      outcome => over.push(outcome),
    )
  }
  assert.deepEqual(new Set(over), new Set(['unsent']))
  assert.equal(over.length, 20)
})

test('at most a quarter of a pool is replaced at once, and at least one connection', () => {
  for (const [size, most] of [
    [1, 1],
    [10, 2],
    [100, 25],
    [Number.POSITIVE_INFINITY, 200],
  ] as const) {
    const pool = new BoundPool({}, 1, {
      database: 'none',
      kind: 'pg',
      where: {},
      singleQueries: [],
      limit: () => size,
      size: () => size,
      waiting: () => 0,
      connect: () => {},
      giveBack: () => {},
    })
    let replaced = 0
    const takeBack = Array.from({ length: 200 }, () => pool.askToReplace(() => replaced++))
    assert.equal(replaced, most)
    for (const give of takeBack) give()
  }
})

test('a cancel request counts as unsent until its TLS handshake is over', async () => {
  const server = net.createServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write('S'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = new pg.Client({ host: '127.0.0.1', port, ssl: { rejectUnauthorized: false } })
  const connected = Object.assign(client, { processID: 1, secretKey: 2 }) as unknown as PgClient
  const outcome = await new Promise(resolve => {
    const giveUp = pgCancellation(connected)!(resolve)
    setTimeout(giveUp, 100)
  })
  assert.equal(outcome, 'unsent')
  server.close()
})
