/** Which pending writes keep the process alive. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_CALLBACK, PendingWrites } from '../../src/logging/stdout/pending-writes.ts'

const callback = (): void => undefined
const nobody = (): boolean => false
const somebody = (): boolean => true

/** What the global console passes to write(). */
function ofConsole(): unknown {
  const { write } = process.stdout
  let found: unknown
  process.stdout.write = ((_: unknown, done: unknown) => {
    found = done
    return true
  }) as never
  try {
    console.log('')
  } finally {
    process.stdout.write = write
  }
  return found
}

describe('a process is kept alive', () => {
  it('by a write with a callback, until that is settled', () => {
    const writes = new PendingWrites()
    assert.equal(writes.add(callback), true)
    assert.equal(writes.keepAlive(nobody), true)
    writes.settle(callback)
    assert.equal(writes.keepAlive(nobody), false)
  })

  it('not by console.log and writes to the descriptor, whoever listens', () => {
    const writes = new PendingWrites()
    assert.equal(typeof ofConsole(), 'function')
    for (const done of [ofConsole(), undefined]) {
      assert.equal(writes.add(done), false)
      assert.equal(writes.tellToWait(done), false)
    }
    assert.equal(writes.keepAlive(somebody), false)
  })

  it('by a writer that was told to wait, while it listens for drain', () => {
    const writes = new PendingWrites()
    writes.add(NO_CALLBACK)
    assert.equal(writes.keepAlive(somebody), false, 'nobody was told to wait')
    assert.equal(writes.tellToWait(NO_CALLBACK), true)
    assert.equal(writes.keepAlive(nobody), false)
    assert.equal(writes.keepAlive(somebody), true)
    writes.settle(NO_CALLBACK)
    assert.equal(writes.keepAlive(somebody), true)
    assert.equal(writes.keepAlive(nobody), false)
    writes.drained()
    assert.equal(writes.keepAlive(somebody), false)
  })

  it('by the last writes of a writer that has waited before, or that pipes', () => {
    for (const begin of ['drainAwaited', 'piped'] as const) {
      const writes = new PendingWrites()
      writes[begin]()
      writes.drained()
      assert.equal(writes.add(NO_CALLBACK), true)
      assert.equal(writes.keepAlive(nobody), true)
      writes.settle(NO_CALLBACK)
      assert.equal(writes.keepAlive(nobody), false)
    }
  })

  it('not by the last writes of a writer that goes on when told to wait', () => {
    const writes = new PendingWrites()
    writes.piped()
    writes.add(NO_CALLBACK)
    writes.tellToWait(NO_CALLBACK)
    writes.tellToWait(NO_CALLBACK)
    assert.equal(writes.keepAlive(nobody), false)
    assert.equal(writes.keepAlive(somebody), true)
  })
})
