/** When a dependency counts as dead, on a clock that the test moves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Circuit } from '../../src/outbound/circuit.ts'

/** A dead one at time 0. */
function dead(): Circuit {
  const circuit = new Circuit()
  for (let i = 0; i < 10; i++) circuit.failed(0)
  assert.equal(circuit.open, true)
  return circuit
}

test('opens after ten failures with no answer between them', () => {
  const circuit = new Circuit()
  for (let i = 0; i < 100; i++) {
    for (let failure = 0; failure < 9; failure++) circuit.failed(i)
    circuit.answered()
  }
  assert.equal(circuit.open, false)
  assert.equal(circuit.refuses(100), false)
})

test('lets one probe out after each pause, and an answer ends it', () => {
  const circuit = dead()
  const probes: number[] = []
  for (let ms = 0; ms <= 5000; ms += 10) {
    if (circuit.refuses(ms)) continue
    probes.push(ms)
    circuit.failed(ms)
  }
  assert.deepEqual(probes, [100, 300, 700, 1500, 2500, 3500, 4500])
  circuit.answered()
  assert.deepEqual([circuit.open, circuit.refuses(5001), circuit.failures], [false, false, 0])
})

test('a probe that hangs does not hold up the next one', () => {
  const circuit = dead()
  const probes: number[] = []
  for (let ms = 0; ms <= 500; ms += 10) if (!circuit.refuses(ms)) probes.push(ms)
  assert.deepEqual(probes, [100, 200, 300, 400, 500])
})

test('calls that had begun before it was dead do not make the pause longer', () => {
  const circuit = dead()
  for (let i = 0; i < 100; i++) circuit.failed(50)
  assert.equal(circuit.refuses(99), true)
  assert.equal(circuit.refuses(100), false)
})
