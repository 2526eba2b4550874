import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkedLaw, LAW_METHODS } from '../../src/admission/checked-law.ts'
import { fixedLimit, type LimitLaw } from '../../src/admission/limit.ts'

const rejected = (): Promise<never> => Promise.reject(new Error('redis down'))

function checked(change: object): { law: LimitLaw; notes: string[] } {
  const notes: string[] = []
  return { law: checkedLaw({ ...fixedLimit(3), ...change } as LimitLaw, note => notes.push(note)), notes }
}

// A rejection that nobody catches fails the test that runs when it is noticed.
const noticed = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

for (const make of [() => Number.NaN, () => 0, () => 1.5, () => '3', () => Symbol('3'), Object.create, rejected]) {
  test(`a limit that is no whole number of at least 1 is an exception: ${make}`, async () => {
    const { law } = checked({ limit: make(null) })
    assert.throws(() => law.limit, /must be a whole number of at least 1 whenever it is read; got .*Correct the law/)
    await noticed()
  })
}

for (const method of LAW_METHODS) {
  test(`an async ${method} that rejects is said once, and its rejection is nobody's`, async () => {
    const { law, notes } = checked({ [method]: rejected })
    for (let i = 0; i < 3; i++) (law[method] as (...times: number[]) => void)(0, 0)
    await noticed()
    assert.equal(notes.length, 1)
    assert.match(
      notes[0]!,
      new RegExp(`${method}\\(\\) rejected with Error: redis down; it must act before it returns`),
    )
    assert.equal(law.limit, 3)
  })
}

test('searching that is a promise is no', async () => {
  const { law } = checked({ searching: rejected() })
  assert.equal(law.searching, false)
  await noticed()
})
