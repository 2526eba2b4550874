/** The permit of one request, and the fail-open guard. Each reports its end once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { FailOpen } from '../../src/fail-open.ts'
import { Permit } from '../../src/admission/in-service/permit.ts'

describe('a permit', () => {
  it('ends once, and says whether it was held or lent', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.nat(3), (lent, times) => {
        const permit = new Permit()
        assert.equal(permit.endPermit(), undefined)
        permit.holdPermit(7)
        assert.deepEqual([permit.holdsPermit, permit.inService, permit.startedAt], [true, true, 7])
        if (lent) permit.lendPermit()
        assert.deepEqual([permit.holdsPermit, permit.inService], [!lent, true])
        assert.equal(permit.endPermit(), lent ? 'lent' : 'held')
        for (let i = 0; i < times; i++) assert.equal(permit.endPermit(), undefined)
        assert.deepEqual([permit.holdsPermit, permit.inService], [false, false])
      }),
    )
  })
})

describe('the fail-open guard', () => {
  function guarded(): { failOpen: FailOpen; done: string[] } {
    const done: string[] = []
    const failOpen = new FailOpen({
      stepAside: () => done.push('aside'),
      startWaiting: () => done.push('start'),
      onFailure: error => done.push(String(error)),
    })
    return { failOpen, done }
  }

  it('opens at once, and only once, when open() is called', () => {
    const { failOpen, done } = guarded()
    assert.equal(failOpen.isOpen, false)
    failOpen.open()
    failOpen.open()
    assert.equal(failOpen.isOpen, true)
    assert.deepEqual(done, ['start', 'aside'])
  })

  it('reports only the first failure, and starts waiting requests on the next tick', async () => {
    const { failOpen, done } = guarded()
    for (const what of ['first', 'second']) {
      failOpen.guard(() => {
        throw new Error(what)
      })
    }
    assert.deepEqual(done, ['aside', 'Error: first'])
    await new Promise(resolve => process.nextTick(resolve))
    assert.deepEqual(done, ['aside', 'Error: first', 'start'])
    failOpen.open()
    assert.equal(done.length, 3)
  })

  it('reports a failure after open(), and starts waiting requests only once', async () => {
    const { failOpen, done } = guarded()
    failOpen.open()
    failOpen.fail(new Error('late'))
    await new Promise(resolve => process.nextTick(resolve))
    assert.deepEqual(done, ['start', 'aside', 'Error: late'])
  })
})
