import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PressureMeter } from '../../src/admission/pressure.ts'

function offer(meter: PressureMeter, nowMs: number, kinds: readonly ('started' | 'waited' | 'shed')[]): void {
  for (const kind of kinds) {
    meter.offered(nowMs)
    if (kind !== 'started') meter.waited()
    if (kind === 'shed') meter.shed()
  }
}

test('nothing offered, or everything started at once, is no pressure', () => {
  const meter = new PressureMeter()
  assert.equal(meter.value(0), 0)
  offer(meter, 100, ['started', 'started'])
  assert.equal(meter.value(200), 0)
})

test('waiting counts up to a half, shedding up to one', () => {
  const waits = new PressureMeter()
  offer(waits, 0, ['waited', 'waited', 'started', 'started'])
  assert.equal(waits.value(0), 0.25)
  const sheds = new PressureMeter()
  offer(sheds, 0, ['shed', 'shed'])
  assert.equal(sheds.value(0), 1)
  const half = new PressureMeter()
  offer(half, 0, ['shed', 'waited'])
  assert.equal(half.value(0), 0.75)
})

test('falls back to zero when traffic stops', () => {
  const meter = new PressureMeter()
  offer(meter, 0, ['shed'])
  assert.equal(meter.value(1500), 1)
  assert.equal(meter.value(2500), 0)
})
