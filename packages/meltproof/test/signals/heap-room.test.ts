/** The heap as a reason to shed: hysteresis, and the real collector in a process whose heap is nearly full. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { oldSpaceLimit } from '../../src/signals/heap.ts'
import { HeapRoom } from '../../src/signals/heap-room.ts'

describe('the limit of the old generation', () => {
  const MB = 1024 * 1024
  it('is the last --max-old-space-size flag', () => {
    const flags = ['--max-old-space-size=100', '--inspect', '--max_old_space_size=200']
    assert.equal(oldSpaceLimit(flags, 240 * MB, 24), 200 * MB)
    assert.equal(oldSpaceLimit([...flags, '--max-semi-space-size=128'], 584 * MB, 24), 200 * MB)
  })
  it('is not that of a flag which V8 has not read, because the app changed NODE_OPTIONS later', () => {
    assert.equal(oldSpaceLimit(['--max-old-space-size=256'], 4288 * MB, 24), 4096 * MB)
    assert.equal(oldSpaceLimit(['--max-old-space-size=8192'], 4288 * MB, 24), 4096 * MB)
  })
  it('is the heap limit without the young generation if there is no flag', () => {
    // Values that Node 22, 24 and 26 report in containers of 1, 2, 4 and 16 GB.
    const limits = { 22: [524, 1048, 2096, 4144], 24: [560, 1120, 2240, 4288], 26: [536, 1072, 2144, 4192] }
    for (const [major, heaps] of Object.entries(limits)) {
      assert.deepEqual(
        heaps.map(heap => oldSpaceLimit([''], heap * MB, Number(major)) / MB),
        [512, 1024, 2048, 4096],
      )
    }
  })
  it('is nearly the whole heap in a small container, whose young generation is small', () => {
    for (const major of [22, 24, 26]) {
      assert.ok(oldSpaceLimit([], 259 * MB, major) / MB >= 256)
      assert.equal(oldSpaceLimit([], 200 * MB, major), 200 * MB)
    }
  })
})

describe('HeapRoom', () => {
  const collector = (room: HeapRoom, everyMs = 1000) => {
    let nowMs = 0
    return (percent: number, inService: number): void => {
      nowMs += everyMs
      room.collected({ nowMs, usedBytes: percent, limitBytes: 100, inService })
    }
  }
  /** The number of requests in service at which the next one is shed; Infinity without a limit. */
  const limitOf = (room: HeapRoom, nowMs: number): number => {
    if (!room.isShort) return Number.POSITIVE_INFINITY
    for (let inService = 0; inService < 1000; inService++) if (room.refuses(inService, nowMs)) return inService
    return Number.POSITIVE_INFINITY
  }

  /** The limit after each of these collections, one a second, with 40 requests in service. */
  const limitsAfter = (percents: readonly number[]): number[] => {
    const room = new HeapRoom()
    const collected = collector(room)
    return percents.map((percent, at) => {
      collected(percent, 40)
      return limitOf(room, (at + 1) * 1000)
    })
  }

  it('keeps the number in service when live objects grow above 85 %, and halves it while they grow', () => {
    const seen = limitsAfter([60, 80, 86, 88, 90])
    assert.deepEqual(seen, [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 40, 20, 10])
  })

  it('admits more once live objects no longer grow, and all when they have fallen by 15 %', () => {
    const seen = limitsAfter([60, 90, 90, 89, 89, 75])
    assert.deepEqual(seen, [Number.POSITIVE_INFINITY, 40, 60, 90, 135, Number.POSITIVE_INFINITY])
  })

  it('admits more also if live objects settle slightly above the level at which the limit was set', () => {
    const seen = limitsAfter([60, 90, 90.4, 90.4, 90.4, 90.4])
    assert.deepEqual(seen.slice(1), [40, 60, 90, 135, 203])
  })

  it('limits slow growth near the end of the heap', () => {
    const room = new HeapRoom()
    const collected = collector(room, 1000)
    let percent = 88
    for (; !room.isShort && percent < 100; percent += 0.2) collected(percent, 40)
    assert.ok(percent > 92 && percent < 96, String(percent))
  })

  it('sheds nothing for a cache that fills the heap and stays, nor for one that grows slowly', () => {
    for (const slope of [0, 0.1]) {
      const room = new HeapRoom()
      const collected = collector(room, 5000)
      for (let at = 0; at < 100; at++) {
        collected(Math.min(99, 87 + slope * at), 40)
        assert.equal(room.isShort, false, `${slope}, ${at}`)
      }
    }
  })

  it('always admits one request', () => {
    const room = new HeapRoom()
    const collected = collector(room)
    for (let percent = 60; percent < 100; percent += 4) collected(percent, 0)
    assert.equal(limitOf(room, 10_000), 1)
  })

  it('admits more and more once full collections stop', () => {
    const room = new HeapRoom()
    const collected = collector(room, 100)
    for (const percent of [60, 90]) collected(percent, 40)
    assert.equal(limitOf(room, 1100), 40)
    assert.deepEqual(
      [1300, 1900, 2500].map(nowMs => limitOf(room, nowMs)),
      [60, 90, 135],
    )
  })

  it('limits a heap that is over half full while full collections follow each other closely', () => {
    const afterFive = (percent: number, everyMs: number): boolean => {
      const room = new HeapRoom()
      const collected = collector(room, everyMs)
      for (let i = 0; i < 5; i++) collected(percent, 40)
      return room.isShort
    }
    assert.deepEqual([afterFive(60, 10), afterFive(60, 50), afterFive(40, 10)], [true, false, false])
  })

  it('limits in a real process whose heap fills up, and no longer when the heap was freed', () => {
    const script = `
      import { heapRoom } from ${JSON.stringify(new URL('../../src/signals/heap.ts', import.meta.url).href)}
      const room = heapRoom(() => 10)
      let held = []
      const pause = () => new Promise(resolve => setTimeout(resolve, 3))
      while (!room.isShort) {
        for (let i = 0; i < 4; i++) held.push(new Array(10_000).fill(held.length + 0.5))
        await pause()
      }
      const whenFull = room.isShort
      held = []
      gc()
      await pause()
      await pause()
      console.log(JSON.stringify([whenFull, room.isShort]))
    `
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--expose-gc', '--max-old-space-size=256', '--input-type=module', '-e', script],
      { encoding: 'utf8', timeout: 60_000 },
    )
    assert.deepEqual(stdout.trim(), '[true,false]', stderr)
  })
})
