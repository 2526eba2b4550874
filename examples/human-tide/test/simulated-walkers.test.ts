/** Simulated walkers on a slow database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Shore } from '../src/live/shore.ts'
import type { Store } from '../src/positions/store.ts'
import { SIMULATED, SimulatedWalkers } from '../src/simulated/simulated-walkers.ts'

/** A store that records calls, and completes them when the test calls takeAll(). */
function slowStore() {
  const asked: ('keep' | 'forget')[] = []
  let waiting: (() => void)[] = []
  const ask = (what: 'keep' | 'forget') => () =>
    new Promise<readonly never[]>(resolve => {
      asked.push(what)
      waiting.push(() => resolve([]))
    })
  return {
    asked,
    store: { keep: ask('keep'), forget: ask('forget') } as unknown as Store,
    /** Completes all waiting calls, and the calls that follow from them. */
    async takeAll(): Promise<void> {
      while (waiting.length > 0) {
        const taken = waiting
        waiting = []
        for (const done of taken) done()
        await turn()
      }
    },
  }
}

const times = (count: number, what: string): string[] => Array.from({ length: count }, () => what)

test('a step waits for the previous one and for leftovers to be deleted, and stop() for the last one', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { asked, store, takeAll } = slowStore()
  const walkers = new SimulatedWalkers(store, new Shore())
  const started = walkers.start()
  t.mock.timers.tick(5_000)
  assert.deepEqual(asked, ['forget'], 'the leftovers of a crash are deleted one by one, before any step')
  await takeAll()
  await started
  const forgotten = times(SIMULATED, 'forget')
  assert.deepEqual(asked, forgotten)
  t.mock.timers.tick(3_000)
  const walked = [...forgotten, ...times(SIMULATED, 'keep')]
  assert.deepEqual(asked, walked, 'one step, though three are due')
  const stopped = walkers.stop()
  await turn()
  assert.deepEqual(asked, walked, 'they are deleted after their last step is stored')
  await takeAll()
  await stopped
  t.mock.timers.tick(5_000)
  assert.deepEqual(asked, [...walked, ...forgotten])
})
