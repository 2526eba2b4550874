/** HAProxy, the agent, the gate and the limiter together, on a virtual clock. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { Advice } from '../../src/haproxy/advice.ts'
import type { DoorOptions } from '../../sim/door.ts'
import { CPU5, cpu5, pool50, poolOf, waits } from '../../sim/scenarios.ts'
import { type SimResult, simulate } from '../../sim/service.ts'
import type { Workload } from '../../sim/workload.ts'

function behind(door: DoorOptions, workload: Workload, seconds: number): SimResult {
  return simulate(workload, { seconds, limiter: busyMs => new ConcurrencyLimiter(busyMs), door })
}

function told(workload: Workload, seconds: number, maxconn?: number): SimResult {
  const advice = new Advice()
  const agent: DoorOptions['agent'] = (figures, nowMs) => advice.line(figures, nowMs, 1)
  return behind({ agent, ...(maxconn !== undefined && { maxconn }) }, workload, seconds)
}

const goodFrom = ({ seconds }: SimResult, s: number): number => {
  const later = seconds.slice(s)
  return later.reduce((sum, { good }) => sum + good, 0) / later.length
}

describe('the door that is told', () => {
  it('keeps the whole capacity at twenty times of it, and turns nearly all away itself', () => {
    const workload: Workload = { rate: () => 20 * CPU5, steps: cpu5 }
    const result = told(workload, 4)
    const untold = behind({}, workload, 4)
    assert.ok(goodFrom(result, 2) >= 0.97 * CPU5, `${goodFrom(result, 2)}/s of ${CPU5}`)
    assert.ok(goodFrom(result, 2) > goodFrom(untold, 2), `${goodFrom(untold, 2)}/s untold`)
    const [toldAtS] = result.door!.told[0]!
    const here = result.shed - result.door!.refused
    assert.ok(here <= (toldAtS + 0.25) * 20 * CPU5, `${here} in the service, which was held after ${toldAtS} s`)
  })

  it('keeps a pool full', () => {
    const result = told({ rate: () => 2000, steps: pool50 }, 10)
    assert.ok(goodFrom(result, 1) >= 198, `${goodFrom(result, 1)}/s`)
  })

  it('leaves a burst to the service, which has time for it, also after an overload', () => {
    const burst = (nowMs: number): boolean => nowMs >= 14_000 && nowMs < 14_100
    const rate = (nowMs: number): number => (nowMs < 2000 ? 2000 : burst(nowMs) ? 600 : 20)
    const result = told({ rate, steps: cpu5 }, 16)
    assert.ok(result.door!.refused > 1000, 'an overload')
    assert.deepEqual(new Set(result.seconds.slice(5).map(({ shed }) => shed)), new Set([0]))
    assert.ok(result.seconds[14]!.offered > 40, 'a burst')
  })

  it('turns nobody away below capacity', () => {
    assert.equal(told({ rate: () => 0.9 * CPU5, steps: cpu5 }, 20).shed, 0)
    assert.equal(told({ rate: () => 180, steps: pool50 }, 20).shed, 0)
  })

  it('lets handlers that never wait work one by one', () => {
    const workload: Workload = { rate: () => 5000, steps: () => [{ cpu: 1 }] }
    const result = told(workload, 4)
    assert.ok(goodFrom(result, 2) >= 960, `${goodFrom(result, 2)}/s of about 970`)
    const untold = behind({}, workload, 4)
    assert.ok(goodFrom(result, 2) > goodFrom(untold, 2))
  })

  it('holds nobody by what a predecessor said, when requests wait for something with room for all', () => {
    const workload: Workload = { rate: () => 600, steps: () => waits(200) }
    assert.ok(goodFrom(behind({ maxconn: 12 }, workload, 12), 5) < 70, 'without an agent it is held')
    assert.ok(goodFrom(told(workload, 12, 12), 5) > 570)
  })

  it('holds nobody when a dependency gets ten times as fast', () => {
    const workload: Workload = {
      rate: () => 1500,
      steps: (_, nowMs) => (nowMs < 5000 ? pool50() : poolOf(5)),
    }
    const result = told(workload, 12)
    assert.ok(goodFrom(result, 8) >= 1400, `${goodFrom(result, 8)}/s of 1500`)
  })
})
