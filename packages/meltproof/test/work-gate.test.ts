/** The gate of limiter() runs and outbound calls: work without a permit, and waiting work that fails to get one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GATE_TUNING } from '../src/admission/gate.ts'
import { GatedWork, WorkGate } from '../src/work-gate.ts'

class One extends GatedWork<One> {
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
const gateOfOne = (): WorkGate<One> =>
  new WorkGate<One>({
    limit: 1,
    isOurs: true,
    tuning: GATE_TUNING,
    levels: false,
    onFailure: error => failures.push(error),
  })

test('work that began without a permit does not count as abandoned', () => {
  const nested = new One()
  gateOfOne().giveUp(nested)
  assert.equal(nested.abandoned, false)
})

test('waiting work starts even if giving it a permit throws', async () => {
  const gate = gateOfOne()
  const [first, second] = [new One(), new One()]
  assert.deepEqual([gate.ask(first), gate.ask(second)], ['start', 'wait'])
  gate.processGate.permits.give = () => {
    throw new Error('ours')
  }
  gate.end(first, true)
  await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
  assert.equal(second.begun, true)
  assert.equal(failures.length, 1)
})
