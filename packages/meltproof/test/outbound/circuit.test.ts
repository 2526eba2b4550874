/** When a dependency counts as dead, on a clock that the test moves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Circuit } from '../../src/outbound/circuit.ts'

/** A dependency that is dead at time 0. */
function dead(tookMs = 1): Circuit {
  const circuit = new Circuit()
  for (let i = 0; i < 9; i++) circuit.failed(-100, tookMs)
  assert.equal(circuit.open, false)
  circuit.failed(0, tookMs)
  assert.equal(circuit.open, true)
  return circuit
}

test('the circuit opens after ten failures with no answer between them', () => {
  const circuit = new Circuit()
  for (let i = 0; i < 100; i++) {
    for (let failure = 0; failure < 9; failure++) circuit.failed(i, 1)
    circuit.answered()
  }
  assert.equal(circuit.open, false)
  assert.equal(circuit.refuses(100), false)
})

test('the circuit stays closed while all failures are within 100 ms', () => {
  const circuit = new Circuit()
  for (let i = 0; i < 1000; i++) circuit.failed(99, 1)
  assert.equal(circuit.open, false)
  circuit.failed(198, 1)
  assert.equal(circuit.open, false)
  circuit.failed(199, 1)
  assert.equal(circuit.open, true)
})

test('an open circuit lets one probe out after each pause of at most a second, and an answer closes it', () => {
  const probesOf = (circuit: Circuit, tookMs: number): number[] => {
    const probes: number[] = []
    for (let ms = 0; ms <= 3000; ms += 10) {
      if (circuit.refuses(ms)) continue
      probes.push(ms)
      circuit.failed(ms, tookMs)
    }
    return probes
  }
  assert.deepEqual(probesOf(dead(), 1).slice(0, 4), [100, 200, 300, 400], 'refused at once')
  assert.deepEqual(probesOf(dead(700), 700), [700, 1400, 2100, 2800])
  const circuit = dead(60_000)
  assert.deepEqual(probesOf(circuit, 60_000), [1000, 2000, 3000], 'no longer than a second')
  circuit.answered()
  assert.deepEqual([circuit.open, circuit.refuses(3001), circuit.failures], [false, false, 0])
})

test('a probe that hangs does not delay the next one', () => {
  const circuit = dead()
  const probes: number[] = []
  for (let ms = 0; ms <= 500; ms += 10) if (!circuit.refuses(ms)) probes.push(ms)
  assert.deepEqual(probes, [100, 200, 300, 400, 500])
})

test('calls that began before the circuit opened do not lengthen the pause', () => {
  const circuit = dead()
  for (let i = 0; i < 100; i++) circuit.failed(50, 1000)
  assert.equal(circuit.refuses(99), true)
  assert.equal(circuit.refuses(100), false)
})
