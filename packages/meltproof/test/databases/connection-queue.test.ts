/** The queue in front of a pool: which caller gets the next connection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectionQueue } from '../../src/databases/connection-queue.ts'
import { Budget } from '../../src/deadline/budget.ts'
import { DeadlineExceededError } from '../../src/deadline/deadline-error.ts'

type Connected = (error: Error | undefined | null, connection?: number) => void

class FakePool {
  readonly asked: Connected[] = []
  readonly returned: number[] = []
  readonly served: string[] = []
  readonly queue: ConnectionQueue<number>
  readonly #budgets = new Map<string, Budget>()

  constructor(size: number) {
    this.queue = new ConnectionQueue<number>({
      limit: () => size,
      connect: called => this.asked.push(called),
      giveBack: connection => this.returned.push(connection),
    })
  }

  wait(...names: string[]): void {
    for (const name of names) {
      const budget = new Budget(60_000)
      this.#budgets.set(name, budget)
      this.queue.wait(budget, error => this.served.push(error === undefined ? name : `${name}: ${error.message}`))
    }
  }

  timeout(name: string): void {
    const facts = { phase: 'acquire', limitMs: 1, waitedMs: 1, ownStallMs: 0 } as const
    this.#budgets.get(name)?.cancel(Object.assign(new DeadlineExceededError(facts), { message: 'late' }))
  }

  leave(name: string): void {
    this.#budgets.get(name)?.cancel(new Error('left'))
  }

  /** The pool answers the oldest request for a connection, or the one at this place. */
  connect(error?: Error, at = 0): void {
    this.asked.splice(at, 1)[0]!(error, error === undefined ? 1 : undefined)
  }
}

test('the queue serves callers in order of arrival, and requests only connections that are wanted and allowed', () => {
  const pool = new FakePool(2)
  pool.wait('a')
  assert.equal(pool.asked.length, 1)
  pool.wait('b', 'c', 'd')
  assert.equal(pool.asked.length, 2)
  assert.equal(pool.queue.waiting, 2)
  pool.connect()
  pool.connect()
  assert.deepEqual(pool.served, ['a', 'b'])
  assert.equal(pool.asked.length, 0)
  pool.queue.free()
  pool.connect()
  assert.deepEqual(pool.served, ['a', 'b', 'c'])
})

test('the queue serves the newest caller first once a deadline has passed, until the queue is empty', () => {
  const pool = new FakePool(1)
  pool.wait('a', 'b', 'c', 'd')
  pool.timeout('a')
  pool.connect()
  pool.queue.free()
  pool.wait('e')
  pool.connect()
  pool.queue.free()
  pool.connect()
  pool.queue.free()
  pool.connect()
  assert.deepEqual(pool.served, ['a: late', 'd', 'e', 'c', 'b'])
  pool.wait('f', 'g')
  pool.queue.free()
  pool.connect()
  assert.equal(pool.served.at(-1), 'f')
})

test('a deadline on a connection switches to newest first, unless the queue is empty or the wait was cancelled', () => {
  const pool = new FakePool(1)
  const late = new DeadlineExceededError({ phase: 'query', limitMs: 1, waitedMs: 1, ownStallMs: 0 })
  pool.queue.ended(late)
  pool.wait('a', 'b', 'c', 'd')
  pool.leave('c')
  pool.connect()
  pool.queue.free()
  pool.connect()
  pool.wait('e')
  pool.queue.ended(late)
  pool.queue.free()
  pool.connect()
  assert.deepEqual(pool.served, ['c: left', 'a', 'b', 'e'])
})

test('the queue returns an unwanted connection, and rejects the longest wait if connecting fails', () => {
  const pool = new FakePool(2)
  pool.wait('a')
  pool.leave('a')
  pool.connect()
  assert.deepEqual(pool.returned, [1])
  pool.wait('b', 'c')
  pool.connect(new Error('refused'))
  assert.deepEqual(pool.served, ['a: left', 'b: refused'])
  pool.connect()
  assert.equal(pool.served.at(-1), 'c')
})

test('a caller whose request the pool refuses gets the error, and the longest wait if that caller has left', () => {
  const pool = new FakePool(3)
  pool.wait('a', 'b', 'c')
  pool.connect(new Error('full'), 2)
  pool.wait('d')
  pool.leave('d')
  pool.connect(new Error('full'), 2)
  pool.connect()
  assert.deepEqual(pool.served, ['c: full', 'd: left', 'a: full', 'b'])
})

test('callers for whom no connection was requested are rejected in order of arrival', () => {
  const pool = new FakePool(1)
  pool.wait('a', 'b', 'c')
  for (let i = 0; i < 3; i++) pool.connect(new Error('refused'))
  assert.deepEqual(pool.served, ['a: refused', 'b: refused', 'c: refused'])
})
