/** Which connection a request gets, given the keep-alive timeout of the server. No sockets: the times are given. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Connection } from '../../src/load/connection.ts'
import { ConnectionPool } from '../../src/load/connection-pool.ts'

interface Fake {
  state: string
  since: number
  usableUntil: number
  keptMs: number
  destroyed: boolean
}

/** A pool with one free connection whose server keeps it for `keptMs`; answered at 1000. */
const answered = (keptMs: number) => {
  const made: Fake[] = []
  const connect = (): Connection => {
    const fake = { state: 'open', busy: true, since: 0, usableUntil: 0, keptMs, destroyed: false }
    made.push(fake)
    return Object.assign(fake, { destroy: () => (fake.destroyed = true) }) as unknown as Connection
  }
  const dialer = { hasRoom: true, connect, destroy: () => {} }
  const pool = new ConnectionPool({ standing: 1, most: 9, connectingAtOnce: 9 }, dialer)
  const connection = pool.connect(0)
  pool.connected(connection)
  pool.answered(connection, true, 1000)
  return { pool, connection, made }
}

describe('a free connection in the pool', () => {
  it('is used until shortly before the keep-alive timeout of its server', () => {
    const { pool, connection } = answered(5000)
    assert.equal(pool.takeFree(4999), connection)
  })

  it('is not used in the last second of the keep-alive timeout, and is replaced', () => {
    const { pool, made } = answered(5000)
    assert.equal(pool.takeFree(5001), undefined)
    assert.equal(pool.closing, 1)
    // If the server does not close it, the pool does. The pool also replaces it in the standing set.
    pool.tidy(5001, false, true)
    assert.equal(made.length, 2)
    assert.equal(made[0]!.destroyed, false)
    pool.tidy(5001 + 1500, false, true)
    assert.equal(made[0]!.destroyed, true)
  })

  it('is not used in the second half of a short keep-alive timeout', () => {
    assert.equal(answered(1000).pool.takeFree(1501), undefined)
    assert.notEqual(answered(1000).pool.takeFree(1499), undefined)
    assert.equal(answered(0).pool.takeFree(1000), undefined)
  })

  it('is used without a time limit if its server gives no keep-alive timeout', () => {
    assert.notEqual(answered(Number.POSITIVE_INFINITY).pool.takeFree(1e9), undefined)
  })
})
