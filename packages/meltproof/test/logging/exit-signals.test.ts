/** meltproof listens to signals while lines wait, and for a while after. Runs on a fake clock. */
import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { ExitHooks } from '../../src/logging/stdout/exit-hooks.ts'
import { fakeTimers } from '../fake-timers.ts'

const listening = (): number[] =>
  ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'].map(signal => process.listenerCount(signal))
/** The listeners of the test runner. */
const before = listening()
const counts = (): number[] => listening().map((count, i) => count - before[i]!)
const turn = (): Promise<unknown> => new Promise(resolve => setImmediate(resolve))
const NONE = [0, 0, 0, 0, 0]
const ALL = [1, 1, 1, 1, 1]

/** Moves in small steps, because a timer set by a timer counts from the end of a tick. */
function pass(ms: number): void {
  for (let each = 0; each < ms; each += 100) mock.timers.tick(100)
}

async function withSignals(work: (signals: ExitHooks, set: (waits: boolean) => void) => Promise<void>): Promise<void> {
  let waits = false
  const restoreTimers = fakeTimers('setTimeout')
  const signals = new ExitHooks(
    () => undefined,
    () => waits,
  )
  try {
    await work(signals, value => {
      waits = value
    })
  } finally {
    signals.undo()
    restoreTimers()
  }
}

describe('signals that end a process', () => {
  it('have listeners while lines wait, SIGINT from the next turn on', async () => {
    await withSignals(async signals => {
      assert.deepEqual(counts(), NONE)
      signals.watchSignals()
      assert.deepEqual(counts(), [1, 0, 1, 1, 1])
      await turn()
      assert.deepEqual(counts(), ALL)
    })
    assert.deepEqual(counts(), NONE)
  })

  it('have no listeners one to two seconds after all lines are written', async () => {
    await withSignals(async (signals, set) => {
      set(true)
      signals.watchSignals()
      await turn()
      pass(5500)
      assert.deepEqual(counts(), ALL)
      set(false)
      pass(900)
      assert.deepEqual(counts(), ALL)
      pass(1100)
      assert.deepEqual(counts(), NONE)
      signals.watchSignals()
      await turn()
      pass(500)
      signals.watchSignals()
      pass(1000)
      assert.deepEqual(counts(), ALL)
    })
  })

  it('have no listener for one turn after letThrough()', async () => {
    await withSignals(async signals => {
      signals.watchSignals()
      await turn()
      assert.equal(signals.letThrough('SIGTERM'), before[3] === 0)
      assert.deepEqual(counts(), [1, 1, 1, 0, 1])
      await turn()
      assert.deepEqual(counts(), ALL)
      const listener = (): void => undefined
      process.on('SIGTERM', listener)
      assert.equal(signals.letThrough('SIGTERM'), false)
      process.removeListener('SIGTERM', listener)
    })
  })
})
