import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Crowding } from '../../src/admission/crowding.ts'

/** Requests that come at these times, ms, and what service takes each of them; the crowding when all have left. */
function after(came: readonly number[], serviceMs: readonly number[]): Crowding {
  const crowding = new Crowding()
  const events = came
    .flatMap((at, i) => [
      { at, order: 1, start: at, service: undefined as number | undefined },
      { at: at + serviceMs[i]!, order: 0, start: at, service: serviceMs[i] },
    ])
    .sort((a, b) => a.at - b.at || a.order - b.order)
  let inflight = 0
  for (const { at, start, service } of events) {
    if (service === undefined) crowding.admitted(at, ++inflight)
    else {
      inflight--
      crowding.completed(start, service)
    }
  }
  return crowding
}

/** What service takes behind so many connections that each take `ms`, first come, first served. */
function behind(connections: number, ms: number, came: readonly number[]): number[] {
  const free = new Array<number>(connections).fill(0)
  return came.map(at => {
    const next = free.indexOf(Math.min(...free))
    free[next] = Math.max(free[next]!, at) + ms
    return free[next]! - at
  })
}

const every = (ms: number, count: number): number[] => Array.from({ length: count }, (_, i) => i * ms)
const SLOWER = 0.6

describe('crowding', () => {
  for (const [connections, ms] of [
    [2, 300],
    [4, 300],
    [10, 500],
  ] as const) {
    test(`sees that ${connections} connections are behind, from those who came at once`, () => {
      const came = every(1, connections * 5)
      const knee = after(came, behind(connections, ms, came)).knee(SLOWER)!
      assert.ok(knee > connections * 0.6 && knee < connections * 2, `${knee}`)
    })
  }

  test('sees it as well where they come little by little, before a limit binds', () => {
    const came = every(100, 40)
    const knee = after(came, behind(2, 300, came)).knee(SLOWER)!
    assert.ok(knee > 1 && knee < 4, `${knee}`)
  })

  test('strangers who merely take long do not crowd', () => {
    const came = every(10, 60)
    assert.equal(
      after(
        came,
        came.map(() => 3000),
      ).knee(SLOWER),
      undefined,
    )
    assert.equal(
      after(
        came,
        came.map((_, i) => (i % 2 === 0 ? 20 : 600)),
      ).knee(SLOWER),
      undefined,
    )
  })

  test('service that becomes slower for all alike is no crowding, though more are there then', () => {
    const came = every(5, 400)
    const service = came.map(at => (at < 500 ? 20 : 200))
    const crowding = new Crowding()
    const leaves = came.map((at, i) => ({ at: at + service[i]!, i })).sort((a, b) => a.at - b.at)
    let left = 0
    for (const [i, at] of came.entries()) {
      while (leaves[left]!.at <= at) {
        crowding.completed(came[leaves[left]!.i]!, service[leaves[left]!.i]!)
        assert.equal(crowding.knee(SLOWER), undefined, `at ${at} ms`)
        left++
      }
      crowding.admitted(at, i + 1 - left)
    }
    assert.ok(left > 300)
  })

  test('one who was quick among many says that the others did not wait for each other', () => {
    const came = every(1, 20)
    const service = behind(4, 300, came)
    assert.notEqual(after(came, service).knee(SLOWER), undefined)
    service[16] = 5
    assert.equal(after(came, service).knee(SLOWER), undefined)
  })

  test('a process runs for years', () => {
    const crowding = new Crowding()
    let at = 0
    for (let i = 0; i < 100_000; i++) {
      crowding.admitted(++at, 1)
      crowding.completed(at, 0)
    }
    const came = Array.from({ length: 64 }, (_, i) => at + 1 + i)
    const service = behind(4, 300, came)
    for (const [i, time] of came.entries()) crowding.admitted(time, i + 1)
    for (const [i, time] of came.entries()) crowding.completed(time, service[i]!)
    const knee = crowding.knee(SLOWER)!
    assert.ok(knee > 2 && knee < 8, `${knee}`)
  })

  test('says nothing before enough have left, and nothing of what came before it was cleared', () => {
    const came = every(1, 20)
    const crowding = after(came.slice(0, 7), behind(2, 300, came.slice(0, 7)))
    assert.equal(crowding.knee(SLOWER), undefined)
    const all = after(came, behind(2, 300, came))
    all.clear()
    assert.equal(all.knee(SLOWER), undefined)
    all.completed(0, 300)
    assert.equal(all.knee(SLOWER), undefined)
  })
})
