import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Histogram } from '../../src/load/histogram.ts'
import { Seconds } from '../../src/load/seconds.ts'

it('Seconds keeps its counts when a second is packed, and adds to a packed one', () => {
  const seconds = new Seconds(1000)
  for (let second = 0; second < 10; second++) {
    const here = seconds.at(second * 1000)
    here.scheduled++
    here.answered['200'] = second
    here.okLatency.record(second + 1)
  }
  seconds.at(2500).okLatency.record(77)
  seconds.at(2500).good++
  const all = seconds.data()
  assert.equal(all.length, 10)
  assert.deepEqual(
    all.map(({ scheduled, answered }) => [scheduled, answered['200']]),
    all.map((_, second) => [1, second]),
  )
  assert.equal(all[2]!.good, 1)
  const third = Histogram.fromJSON(all[2]!.okLatency)
  assert.deepEqual([third.count, third.min, third.max], [2, 3, 77])
})

it('Seconds takes less than 4,000 bytes for each second of load', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = (): number => {
    for (let i = 0; i < 3; i++) collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const seconds = new Seconds(10_000)
  const fill = (from: number, to: number): void => {
    for (let second = from; second < to; second++) {
      for (let k = 0; k < 1000; k++) {
        const here = seconds.at(second * 1000 + k)
        here.answered['200'] = k
        here.answered['503'] = k
        // 0.2 to 4 ms, like a quick server.
        ;(k % 10 === 0 ? here.shedLatency : here.okLatency).record(0.2 * Math.exp(3 * ((k * 0.618) % 1)))
      }
    }
  }
  fill(0, 20)
  const before = used()
  fill(20, 620)
  const each = (used() - before) / 600
  assert.ok(each < 4000, `${each.toFixed(0)} bytes a second`)
  assert.equal(seconds.data().length, 620)
})
