/** Who is owed what waits: that, and nothing else, keeps a process alive. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutletDebt, UNHEARD } from '../../src/logging/stdout/pending-writes.ts'

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

describe('the debt of an outlet', () => {
  it('is a callback that waits, until it is settled', () => {
    const debt = new OutletDebt()
    assert.equal(debt.add(callback), true)
    assert.equal(debt.owes(nobody), true)
    debt.settle(callback)
    assert.equal(debt.owes(nobody), false)
  })

  it('is not what console.log and writers to the descriptor pass, whoever listens', () => {
    const debt = new OutletDebt()
    assert.equal(typeof ofConsole(), 'function')
    for (const done of [ofConsole(), undefined]) {
      assert.equal(debt.add(done), false)
      assert.equal(debt.refuse(done), false)
    }
    assert.equal(debt.owes(somebody), false)
  })

  it('is a drain that somebody waits for, as long as he does', () => {
    const debt = new OutletDebt()
    debt.add(UNHEARD)
    assert.equal(debt.owes(somebody), false, 'nobody was told to wait')
    assert.equal(debt.refuse(UNHEARD), true)
    assert.equal(debt.owes(nobody), false)
    assert.equal(debt.owes(somebody), true)
    debt.settle(UNHEARD)
    assert.equal(debt.owes(somebody), true)
    assert.equal(debt.owes(nobody), false)
    debt.drained()
    assert.equal(debt.owes(somebody), false)
  })

  it('is the rest of what a writer wrote who waited before, or who pipes', () => {
    for (const begin of ['awaited', 'piped'] as const) {
      const debt = new OutletDebt()
      debt[begin]()
      debt.drained()
      assert.equal(debt.add(UNHEARD), true)
      assert.equal(debt.owes(nobody), true)
      debt.settle(UNHEARD)
      assert.equal(debt.owes(nobody), false)
    }
  })

  it('is not the rest of a writer who goes on when told to wait', () => {
    const debt = new OutletDebt()
    debt.piped()
    debt.add(UNHEARD)
    debt.refuse(UNHEARD)
    debt.refuse(UNHEARD)
    assert.equal(debt.owes(nobody), false)
    assert.equal(debt.owes(somebody), true)
  })
})
