/** Which pending writes keep the process alive. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_CALLBACK, PendingWrites } from '../../src/logging/stdout/pending-writes.ts'

const callback = (): void => undefined
const nobody = (): boolean => false
const somebody = (): boolean => true

/** Returns the callback that the global console passes to write(). */
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
  it('by a write with a callback until it is settled', () => {
    const writes = new PendingWrites()
    writes.count(callback, 1)
    assert.equal(writes.keepAlive(nobody), true)
    writes.count(callback, -1)
    assert.equal(writes.keepAlive(nobody), false)
  })

  it('but not by console.log or writes to the descriptor', () => {
    const writes = new PendingWrites()
    assert.equal(typeof ofConsole(), 'function')
    for (const done of [ofConsole(), undefined]) writes.count(done, 1)
    assert.equal(writes.keepAlive(somebody), false)
    writes.respectsBackpressure = true
    assert.equal(writes.keepAlive(nobody), false)
  })

  it('by a writer that waits for drain, and by its last writes', () => {
    const writes = new PendingWrites()
    writes.count(NO_CALLBACK, 1)
    assert.equal(writes.keepAlive(somebody), false, 'no writer waits for drain')
    writes.respectsBackpressure = true
    assert.equal(writes.keepAlive(nobody), true)
    writes.count(NO_CALLBACK, -1)
    assert.equal(writes.keepAlive(somebody), true)
    assert.equal(writes.keepAlive(nobody), false)
  })
})
