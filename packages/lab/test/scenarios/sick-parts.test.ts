/** blackhole, drip, domino and database in their brief form. On a busy machine users may leave before they are answered. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { SickMeasured, SickRun } from '../../src/scenarios/sick-part.ts'
import { onAQuietMachine, runCommand } from './run-command.ts'

async function brief(name: string, context: TestContext, check: (of: (arm: string) => SickRun) => void): Promise<void> {
  const { result } = await runCommand(name)
  const { runs } = result.measured as SickMeasured
  assert.deepEqual(
    runs.map(({ arm }) => arm),
    ['bare', 'naive timeout', 'meltproof'],
  )
  onAQuietMachine(context, result, () => check(arm => runs.find(run => run.arm === arm)!))
}

const gaveUp = (run: SickRun): number => Object.values(run.figures.failed).reduce((sum, count) => sum + count, 0)

// They wait far more than they work.
describe('sick parts', { concurrency: true }, () => {
  test('blackhole: bare callers give up, a limit frees them, and ours says it was the connection', async context => {
    await brief('blackhole', context, of => {
      assert.ok(gaveUp(of('bare')) > 0)
      assert.equal(of('bare').told, null)
      assert.equal(gaveUp(of('naive timeout')), 0)
      const ours = of('meltproof')
      assert.equal(gaveUp(ours), 0)
      assert.ok(ours.figures.allMs.max! < of('naive timeout').figures.allMs.max!)
      assert.match(ours.told!, /^504 .*connection/)
    })
  })

  test('drip: a limit on silence never fires, one on the whole does', async context => {
    await brief('drip', context, of => {
      assert.ok(gaveUp(of('bare')) > 0)
      assert.ok(gaveUp(of('naive timeout')) > 0)
      assert.equal(gaveUp(of('meltproof')), 0)
      assert.match(of('meltproof').told!, /^504 .*bytes/)
    })
  })

  test('domino: the middle tier holds what the top tier has given up, unless it is told', async context => {
    await brief('domino', context, of => {
      assert.ok(gaveUp(of('bare')) > 0)
      for (const arm of ['naive timeout', 'meltproof']) assert.equal(gaveUp(of(arm)), 0, arm)
      const last = (arm: string): number => of(arm).sampled['middle']!.at(-1)!.value
      assert.ok(last('naive timeout') > last('meltproof'), `${last('naive timeout')} and ${last('meltproof')}`)
    })
  })

  test('database: a race frees the caller and leaves the statement running, ours cancels it', async context => {
    await brief('database', context, of => {
      assert.ok(gaveUp(of('bare')) > 0)
      const last = (arm: string): number => of(arm).sampled['running']!.at(-1)!.value
      assert.ok(last('naive timeout') > 2, `${last('naive timeout')} statements`)
      assert.ok(last('meltproof') <= 2, `${last('meltproof')} statements`)
      assert.ok(of('meltproof').goodput > 0.7, `${of('meltproof').goodput}`)
    })
  })

  test('Ctrl-C keeps the arms that were measured, marks the run incomplete and leaves nothing behind', async () => {
    let pressed = false
    const { result, stderr } = await runCommand('drip', 130, (text, kill) => {
      if (pressed || !/^bare: /m.test(text)) return
      pressed = true
      kill('SIGINT')
    })
    assert.match(stderr, /stopped by Ctrl-C/)
    assert.equal(result.incomplete, true)
    assert.deepEqual(
      (result.measured as SickMeasured).runs.map(run => run.arm),
      ['bare'],
    )
    assert.match(result.why[0]!, /cut short: stopped by Ctrl-C/)
  })
})
