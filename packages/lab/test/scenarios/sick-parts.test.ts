/** blackhole, drip, domino and database in their brief form: what must hold however busy the machine is. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ScenarioResult } from '../../src/report/result.ts'
import type { SickMeasured, SickRun } from '../../src/scenarios/sick-part.ts'
import { runCommand } from './run-command.ts'

const armOf = ({ measured }: ScenarioResult, arm: string): SickRun =>
  (measured as SickMeasured).runs.find(run => run.arm === arm)!

async function brief(name: string, expectCode?: (result: ScenarioResult) => number): Promise<(arm: string) => SickRun> {
  const { result } = await runCommand(name, expectCode)
  return arm => armOf(result, arm)
}

const gaveUp = (run: SickRun): number => Object.values(run.figures.failed).reduce((sum, count) => sum + count, 0)

// They wait far more than they work.
describe('sick parts', { concurrency: true }, () => {
  test('blackhole: bare callers give up, a limit frees them, and ours says it was the connection', async () => {
    const of = await brief('blackhole')
    assert.ok(gaveUp(of('bare')) > 0)
    assert.equal(of('bare').told, null)
    assert.equal(gaveUp(of('naive timeout')), 0)
    const ours = of('meltproof')
    assert.equal(gaveUp(ours), 0)
    assert.ok(ours.figures.allMs.max! < of('naive timeout').figures.allMs.max!)
    assert.match(ours.told!, /^504 .*connection/)
  })

  test('drip: a limit on silence never fires, one on the whole does', async () => {
    const of = await brief('drip')
    assert.ok(gaveUp(of('bare')) > 0)
    assert.ok(gaveUp(of('naive timeout')) > 0)
    assert.equal(gaveUp(of('meltproof')), 0)
    assert.match(of('meltproof').told!, /^504 .*bytes/)
  })

  test('domino: the middle tier holds what the top tier has given up, unless it is told', async () => {
    const of = await brief('domino')
    assert.ok(gaveUp(of('bare')) > 0)
    for (const arm of ['naive timeout', 'meltproof']) assert.equal(gaveUp(of(arm)), 0, arm)
    const last = (arm: string): number => of(arm).sampled['middle']!.at(-1)!.value
    assert.ok(last('naive timeout') > last('meltproof'), `${last('naive timeout')} and ${last('meltproof')}`)
  })

  test('database: a race frees the caller and leaves the statement running, ours cancels it', async () => {
    const last = (run: SickRun): number => run.sampled['running']!.at(-1)!.value
    // On a machine so busy that users leave first, what ran for them is cancelled after the last answer.
    const isFreed = (run: SickRun): boolean => gaveUp(run) > 0 || last(run) <= 2
    const of = await brief('database', result => (last(armOf(result, 'meltproof')) <= 2 ? 0 : 3))
    assert.ok(gaveUp(of('bare')) > 0)
    assert.ok(last(of('naive timeout')) > 2, `${last(of('naive timeout'))} statements`)
    assert.ok(isFreed(of('meltproof')), `${last(of('meltproof'))} statements`)
    assert.ok(of('meltproof').goodput > 0.7, `${of('meltproof').goodput}`)
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
