/** The turns of runs and calls: a turn without a permit, and a waiting turn that fails to get one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GATE_TUNING } from '../src/admission/gate.ts'
import { Turn, Turns } from '../src/turns.ts'

class One extends Turn<One> {
  readonly answerBy = Number.POSITIVE_INFINITY
  begun = false
  begin(): void {
    this.begun = true
  }
  refuse(): void {
    assert.fail('shed')
  }
}

const failures: unknown[] = []
const turns = (): Turns<One> =>
  new Turns<One>({
    limit: 1,
    isOurs: true,
    tuning: GATE_TUNING,
    levels: false,
    onFailure: error => failures.push(error),
  })

test('a turn that began without a permit does not count as abandoned', () => {
  const nested = new One()
  turns().giveUp(nested)
  assert.equal(nested.abandoned, false)
})

test('a waiting turn starts even if giving it a permit throws', async () => {
  const here = turns()
  const [first, second] = [new One(), new One()]
  assert.deepEqual([here.ask(first), here.ask(second)], ['start', 'wait'])
  here.gate.permits.give = () => {
    throw new Error('ours')
  }
  here.end(first, true)
  await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
  assert.equal(second.begun, true)
  assert.equal(failures.length, 1)
})
