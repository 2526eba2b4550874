/** The heap as a reason to shed: hysteresis, and the real collector of a process whose heap is nearly full. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { HeapRoom } from '../../src/signals/heap-room.ts'
import { oldSpaceLimit } from '../../src/signals/old-space.ts'

describe('the limit of the old generation', () => {
  const MB = 1024 * 1024
  it('is the last --max-old-space-size flag', () => {
    const flags = ['--max-old-space-size=100', '--inspect', '--max_old_space_size=200']
    assert.equal(oldSpaceLimit(flags, 500 * MB, 24), 200 * MB)
  })
  it('is the heap limit without the young generation if there is no flag', () => {
    // As Node 22, 24 and 26 report it in containers of 1, 2, 4 and 16 GB.
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
  it('is short above 85 % of live objects, until live objects have fallen by 15 %', () => {
    const room = new HeapRoom()
    const seen = [50, 84, 91, 85, 78, 77, 84, 95].map((percent, second) => {
      room.collected(percent, 100, second * 1000)
      return room.short
    })
    assert.deepEqual(seen, [false, false, true, true, true, false, false, true])
  })

  it('is short if the heap is over half full and full collections follow each other closely', () => {
    const shortAfterFive = (percent: number, everyMs: number): boolean => {
      const room = new HeapRoom()
      for (let i = 0; i < 5; i++) room.collected(percent, 100, i * everyMs)
      return room.short
    }
    assert.deepEqual([shortAfterFive(60, 10), shortAfterFive(60, 50), shortAfterFive(40, 10)], [true, false, false])
  })

  it('is short in a real process with a full heap, and not after the heap was freed', () => {
    const script = `
      import { heapRoom } from ${JSON.stringify(new URL('../../src/signals/heap.ts', import.meta.url).href)}
      const room = heapRoom()
      let held = []
      const pause = () => new Promise(resolve => setTimeout(resolve, 3))
      const fill = async () => {
        while (!room.short) {
          for (let i = 0; i < 4; i++) held.push(new Array(10_000).fill(held.length + 0.5))
          await pause()
        }
      }
      await fill()
      const whenFull = room.short
      held = []
      gc()
      await pause()
      await pause()
      console.log(JSON.stringify([whenFull, room.short]))
    `
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--expose-gc', '--max-old-space-size=256', '--input-type=module', '-e', script],
      { encoding: 'utf8', timeout: 60_000 },
    )
    assert.deepEqual(stdout.trim(), '[true,false]', stderr)
  })
})
