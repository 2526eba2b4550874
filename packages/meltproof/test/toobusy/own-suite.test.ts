/** The suite that toobusy-js ships, in time that is ours: a busy machine does not lengthen its work. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, beforeEach, describe, it } from 'node:test'
import { FakeLoop } from './fake-loop.ts'
import { IMPLEMENTATIONS } from './implementations.ts'

type Done = (error?: Error) => void

/** What the suite gives its longest test. */
const TIMEOUT_MS = 10_000
/** What a runner needs between two tests. A lag of theirs is above its threshold by these alone. */
const BETWEEN_TESTS_MS = 5

const require = createRequire(import.meta.url)
const source = readFileSync(require.resolve('toobusy-js/tests.js'), 'utf8')
const loop = new FakeLoop()
after(() => loop.restore())

for (const { name, load } of IMPLEMENTATIONS) {
  const toobusy = await load()
  const globals = {
    beforeEach,
    afterEach,
    describe: (title: string, body: () => void) =>
      describe(title, () => Reflect.apply(body, { timeout: () => undefined }, [])),
    it: (title: string, body: (done: Done) => void) => it(title, () => run(body)),
    require: (id: string): unknown => (id === './' ? toobusy : require(id)),
    // Work that goes on until the clock says so blocks the loop.
    Date: { now: () => ++loop.nowMs },
    setTimeout: (callback: () => void, ms: number) => loop.once(callback, ms),
    setImmediate: (callback: () => void) => loop.once(callback, 0),
  }
  describe(`${name} in the suite of toobusy-js`, () => {
    new Function(...Object.keys(globals), source)(...Object.values(globals))
  })
}

function run(body: (done: Done) => void): void {
  loop.run(BETWEEN_TESTS_MS)
  const outcomes: (Error | undefined)[] = []
  body(error => outcomes.push(error))
  if (body.length === 0) return
  const giveUpMs = loop.nowMs + TIMEOUT_MS
  while (outcomes.length === 0 && loop.nowMs < giveUpMs) loop.run(loop.nextMs)
  assert.deepEqual(outcomes, [undefined], `done() without an error, within ${TIMEOUT_MS} ms`)
}
