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
  it('by a write with a callback until it is settled', () => {
    const writes = new PendingWrites()
    writes.add(callback)
    assert.equal(writes.keepAlive(nobody), true)
    writes.settle(callback)
    assert.equal(writes.keepAlive(nobody), false)
  })

  it('but not by console.log or writes to the descriptor', () => {
    const writes = new PendingWrites()
    assert.equal(typeof ofConsole(), 'function')
    for (const done of [ofConsole(), undefined]) writes.add(done)
    assert.equal(writes.keepAlive(somebody), false)
    writes.heed()
    assert.equal(writes.keepAlive(nobody), false)
  })

  it('by a writer that waits for drain, and by its last writes', () => {
    const writes = new PendingWrites()
    writes.add(NO_CALLBACK)
    assert.equal(writes.keepAlive(somebody), false, 'no writer waits for drain')
    writes.heed()
    assert.equal(writes.keepAlive(nobody), true)
    writes.settle(NO_CALLBACK)
    assert.equal(writes.keepAlive(somebody), true)
    assert.equal(writes.keepAlive(nobody), false)
  })
})
