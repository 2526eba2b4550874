/**
 * The brief form of blackhole, drip, domino and database. On a busy machine users may leave before they are answered.
 */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { SickMeasured, SickRun } from '../../src/scenarios/sick-part.ts'
import { onAQuietMachine } from '../quiet-machine.ts'
import { foreignOf, runCommand } from './run-command.ts'

interface Brief {
  readonly of: (arm: string) => SickRun
  /** A check that applies only on a quiet machine. */
  readonly quiet: (check: () => void) => void
}

async function brief(name: string, context: TestContext): Promise<Brief> {
  const { result } = await runCommand(name)
  const { runs } = result.measured as SickMeasured
  return {
    of: arm => runs.find(run => run.arm === arm)!,
    quiet: check => onAQuietMachine(context, foreignOf(result), check),
  }
}

const gaveUp = (run: SickRun): number => Object.values(run.figures.failed).reduce((sum, count) => sum + count, 0)

// These tests mostly wait, so they can run concurrently.
describe('sick parts, in the brief form', { concurrency: true }, () => {
  test('blackhole: bare callers give up, a timeout frees them, and meltproof names the connection', async context => {
    const { of, quiet } = await brief('blackhole', context)
    const ours = of('meltproof')
    assert.ok(gaveUp(of('bare')) > 0)
    assert.equal(of('bare').told, null)
    assert.match(ours.told!, /^504 .*connection/)
    quiet(() => {
      assert.equal(gaveUp(of('naive timeout')), 0)
      assert.equal(gaveUp(ours), 0)
      assert.ok(ours.figures.allMs.max! < of('naive timeout').figures.allMs.max!)
    })
  })

  test('drip: a timeout on silence does not fire, and one on the whole request does', async context => {
    const { of, quiet } = await brief('drip', context)
    assert.ok(gaveUp(of('bare')) > 0)
    assert.ok(gaveUp(of('naive timeout')) > 0)
    assert.match(of('meltproof').told!, /^504 .*bytes/)
    quiet(() => assert.equal(gaveUp(of('meltproof')), 0))
  })

  test('domino: the middle tier keeps abandoned requests with a naive timeout, not with meltproof', async context => {
    const { of, quiet } = await brief('domino', context)
    const last = (arm: string): number => of(arm).sampled['middle']!.at(-1)!.value
    assert.ok(gaveUp(of('bare')) > 0)
    assert.ok(last('naive timeout') > last('meltproof'), `${last('naive timeout')} and ${last('meltproof')}`)
    quiet(() => {
      for (const arm of ['naive timeout', 'meltproof']) assert.equal(gaveUp(of(arm)), 0, arm)
    })
  })

  test('database: a naive timeout leaves the statement running, and meltproof cancels it', async context => {
    const { of, quiet } = await brief('database', context)
    const last = (arm: string): number => of(arm).sampled['running']!.at(-1)!.value
    assert.ok(gaveUp(of('bare')) > 0)
    assert.ok(last('naive timeout') > last('meltproof'), `${last('naive timeout')} and ${last('meltproof')} statements`)
    quiet(() => {
      assert.ok(last('meltproof') <= 2, `${last('meltproof')} statements`)
      assert.ok(of('meltproof').goodput > 0.7, `${of('meltproof').goodput}`)
    })
  })

  test('Ctrl-C keeps the arms that were measured, and marks the run incomplete', async () => {
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
    assert.match(result.why[0]!, /ended early: stopped by Ctrl-C/)
  })
})
