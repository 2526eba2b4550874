/**
 * A clock for clock.ts that the test moves, next to real sockets and timers. The machine's real work takes no time on
 * it. It stays in place for the whole test file.
 */
import { performance } from 'node:perf_hooks'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

export interface TestClock {
  /** Time passes while the event loop is idle, never faster than real time, so that no heartbeat is late. */
  pass(ms: number): Promise<void>
  /** Time passes while the event loop cannot turn. */
  stall(ms: number): void
}

export function testClock(): TestClock {
  let nowMs = Math.ceil(performance.now())
  let idleMs = performance.nodeTiming.idleTime
  mock.method(performance, 'now', () => nowMs)
  mock.getter(performance.nodeTiming, 'idleTime', () => idleMs)
  return {
    async pass(ms) {
      for (let passed = 0; passed < ms; passed++) {
        await sleep(1)
        nowMs++
        idleMs++
      }
    },
    stall(ms) {
      nowMs += ms
    },
  }
}
