/**
 * Real apps that are hard to judge: on any machine, no verdict on them is better than a wrong one. Takes three minutes,
 * so it is not part of npm test: node --test packages/lab/test/measures/melt-bad-input.ts
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { app, type Ended, meltlab } from '../melt/meltlab.ts'

type Result = NonNullable<Ended['result']>

/** Runs `melt` on an app, and checks that no verdict is red. */
async function notRed(t: TestContext, loads: string, name: string, ...args: string[]): Promise<Result> {
  const { code, stderr, result, strays } = await meltlab([
    ...['--quick', '--no-recovery', '--at', loads, '--connections', '20', '--', 'node', app(name), ...args],
  ])
  assert.equal(code, 0, stderr)
  assert.deepEqual(strays, [])
  const { standings = [], finding, measured, conditions } = result!
  t.diagnostic(finding)
  assert.deepEqual(
    standings.map(({ arm }) => arm),
    ['bare', 'protected'],
  )
  const seen = JSON.stringify({ standings, capacity: measured.capacity, rows: measured.rows, conditions }, null, 1)
  for (const { tone } of standings) assert.notEqual(tone, 'bad', seen)
  return result!
}

describe('meltlab melt, of an app that', () => {
  for (const [unit, until] of [
    ['answers', '60'],
    ['ms', '4000'],
  ] as const) {
    const name = `becomes ten times faster after ${until} ${unit}: it does not melt at half of its capacity`
    test(name, async t => {
      await notRed(t, '0.5', 'warms-up', unit, until)
    })
  }

  test('slows down for ever: there is no verdict, because its capacity is not steady', async t => {
    const { unjudged } = await notRed(t, '0.5', 'slows-down')
    assert.match(unjudged!, /^(its capacity is not steady|the capacity drifted|the machine was busy|the load and what)/)
  })

  test('answers 500 at once while it is busy: it does not melt, because it still serves what it can', async t => {
    await notRed(t, '0.5,6', 'errors-when-busy')
  })
})
