/**
 * The clock of clock.ts, moved by the test, beside real sockets and timers: what the machine does meanwhile takes no time.
 * It stays for the whole test file.
 */
import { performance } from 'node:perf_hooks'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

export interface TestClock {
  /** Time passes while the event loop rests. Never faster than real time, so that no heartbeat comes too late. */
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
