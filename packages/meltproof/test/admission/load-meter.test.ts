import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LoadMeter } from '../../src/admission/load-meter.ts'

function idle(): LoadMeter {
  return new LoadMeter(() => ({ loopMs: 0, inServiceMs: 0 }), 0)
}

function offer(meter: LoadMeter, nowMs: number, kinds: readonly ('started' | 'waited' | 'shed')[]): void {
  for (const kind of kinds) {
    meter.offered(nowMs)
    if (kind !== 'started') meter.waited()
    if (kind === 'shed') meter.shed(nowMs)
  }
}

test('pressure is 0 if nothing is offered, or if everything starts at once', () => {
  const meter = idle()
  assert.equal(meter.pressure(0), 0)
  offer(meter, 100, ['started', 'started'])
  assert.equal(meter.pressure(200), 0)
})

test('a request that waits counts half towards pressure, a shed in full', () => {
  const waits = idle()
  offer(waits, 0, ['waited', 'waited', 'started', 'started'])
  assert.equal(waits.pressure(0), 0.25)
  const sheds = idle()
  offer(sheds, 0, ['shed', 'shed'])
  assert.equal(sheds.pressure(0), 1)
  const half = idle()
  offer(half, 0, ['shed', 'waited'])
  assert.equal(half.pressure(0), 0.75)
})

test('pressure falls back to 0 when traffic stops', () => {
  const meter = idle()
  offer(meter, 0, ['shed'])
  assert.equal(meter.pressure(1500), 1)
  assert.equal(meter.pressure(2500), 0)
})

test('demand is 1 while nothing is shed, else the number of instances that the load needs', () => {
  const meter = idle()
  assert.equal(meter.demand(0), 1)
  offer(meter, 0, ['started', 'waited'])
  assert.equal(meter.demand(0), 1)
  offer(meter, 10, ['shed', 'shed', 'shed', 'shed'])
  assert.equal(meter.demand(20), 3)
  assert.equal(meter.demand(1010), 3, 'of the last second')
  assert.equal(meter.demand(2500), 1)
})

test('demand is finite when no request is admitted', () => {
  const meter = idle()
  offer(meter, 0, ['shed', 'shed', 'shed'])
  assert.equal(meter.demand(0), 3)
})

test('a request shed later than it was offered still counts as offered', () => {
  const meter = idle()
  for (let i = 0; i < 3; i++) meter.offered(0)
  for (let i = 0; i < 3; i++) meter.shed(2000)
  assert.deepEqual([meter.pressure(2000), meter.demand(2000)], [1, 3])
})

test('utilisation is the larger of the busy loop and the held permits', () => {
  const worked = { loopMs: 0, inServiceMs: 0 }
  const meter = new LoadMeter(() => worked, 0)
  worked.loopMs = 300
  worked.inServiceMs = 4000
  assert.equal(meter.utilisation(1000, undefined), 0.3, 'a limit that is not known says nothing')
  assert.equal(meter.utilisation(1000, 8), 0.5)
  assert.equal(meter.utilisation(1000, 20), 0.3)
  assert.equal(meter.utilisation(1000, 2), 1, 'at most 1')
})

test('load is utilisation times demand', () => {
  const worked = { loopMs: 0, inServiceMs: 0 }
  const meter = new LoadMeter(() => worked, 0)
  worked.inServiceMs = 400
  offer(meter, 0, ['started'])
  assert.equal(meter.load(100, 8), 0.5)
  assert.equal(meter.load(100, undefined), 0)
  offer(meter, 100, ['shed', 'shed'])
  assert.equal(meter.load(100, 4), 3)
})

test('utilisation forgets what is older than two seconds', () => {
  const worked = { loopMs: 0, inServiceMs: 0 }
  const meter = new LoadMeter(() => worked, 0)
  worked.loopMs = 1000
  offer(meter, 1000, ['started'])
  assert.equal(meter.utilisation(1000, undefined), 1)
  offer(meter, 2000, ['started'])
  offer(meter, 3000, ['started'])
  assert.equal(meter.utilisation(3000, undefined), 0)
})

test('a blocked loop counts as busy when it is measured afterwards', () => {
  const worked = { loopMs: 0, inServiceMs: 0 }
  const meter = new LoadMeter(() => worked, 0)
  offer(meter, 1000, ['started'])
  worked.loopMs = 4000
  offer(meter, 5000, ['started'])
  assert.equal(meter.utilisation(5000, undefined), 1)
})

test('full load after an idle hour shows within 100 ms', () => {
  const worked = { loopMs: 0, inServiceMs: 0 }
  const meter = new LoadMeter(() => worked, 0)
  offer(meter, 1000, ['started'])
  offer(meter, 3_600_000, ['started'])
  worked.loopMs = 100
  offer(meter, 3_600_100, ['started'])
  assert.equal(meter.utilisation(3_600_100, undefined), 1)
})

test('rates cover the last one to two seconds', () => {
  const meter = idle()
  offer(meter, 10, ['started'])
  assert.equal(meter.rates(50, undefined), undefined, 'too soon to tell')
  offer(meter, 500, ['started', 'shed', 'shed'])
  assert.deepEqual(meter.rates(500, undefined), { offeredPerS: 8, shedPerS: 4, failedPerS: 0 })
  offer(meter, 1200, ['started', 'shed'])
  for (let i = 0; i < 4; i++) meter.failed()
  assert.deepEqual(meter.rates(1600, undefined), { offeredPerS: 3.75, shedPerS: 1.875, failedPerS: 2.5 })
  offer(meter, 2200, ['started'])
  assert.deepEqual(meter.rates(2200, undefined), { offeredPerS: 3, shedPerS: 1, failedPerS: 4 })
})

test('rates and utilisation cover the same time, also after an idle hour', () => {
  const worked = { loopMs: 0, inServiceMs: 0 }
  const meter = new LoadMeter(() => worked, 0)
  offer(meter, 1000, ['started'])
  offer(meter, 3_600_000, ['started'])
  assert.equal(meter.rates(3_600_050, undefined), undefined)
  worked.loopMs = 50
  offer(meter, 3_600_100, ['started', 'shed'])
  assert.equal(meter.utilisation(3_600_100, undefined), 0.5)
  assert.deepEqual(meter.rates(3_600_100, undefined), { offeredPerS: 30, shedPerS: 10, failedPerS: 0 })
})
