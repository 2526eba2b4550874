/** The blame scenario: its alerts, and the brief form. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Cause,
  type Estimate,
  errorsOf,
  firesRightly,
  naiveAlertFires,
  type Operation,
  type Verdict,
} from '../../src/scenarios/blame-figures.ts'
import { runCommand } from './run-command.ts'

const operations = (latencyMs: number, ...verdicts: Verdict[]): Operation[] =>
  verdicts.map(verdict => ({ cause: 'loop', latencyMs, verdict }))

describe('alerts in the blame scenario', () => {
  it('the latency alert does not fire while the operation is as fast as usual, whatever the verdicts', () => {
    assert.equal(naiveAlertFires(operations(100, 'loop', 'dependency')), false)
    assert.equal(naiveAlertFires(operations(400, 'network', 'loop')), true)
  })

  it('a firing alert is right for its own cause only, and the loop alert also if the app itself is the cause', () => {
    const rightly = (cause: Cause, ...firing: string[]): boolean => firesRightly({ cause, firing })
    assert.equal(rightly('loop', 'MeltproofLoopBlocked'), true)
    assert.equal(rightly('loop'), false)
    assert.equal(rightly('loop', 'MeltproofLoopBlocked', 'MeltproofNetworkSlow'), false)
    assert.equal(rightly('dependency', 'MeltproofLoopBlocked'), false)
    assert.equal(rightly('nothing'), true)
    assert.equal(rightly('nothing', 'MeltproofLoopBlocked'), false)
    assert.equal(rightly('self', 'MeltproofLoopBlocked'), true)
    assert.equal(rightly('self', 'MeltproofDependencySlow'), false)
  })

  it('the latency alert does not fire without operations', () => {
    assert.equal(naiveAlertFires([]), false)
  })
})

it('the brief form names each cause', async () => {
  const { result } = await runCommand('blame')
  const { operations: all, estimates } = result.measured as { operations: Operation[]; estimates: Estimate[] }
  assert.equal(estimates.length, 8)
  const { mean, wall } = errorsOf(estimates)!
  assert.ok(mean < wall, `off by ${mean} ms, the wall time by ${wall}`)
  for (const cause of ['loop', 'dependency', 'network', 'self'] as const) {
    const of = all.filter(each => each.cause === cause)
    assert.equal(of.length, 4)
    // Another process that takes the core for a long time may change one verdict.
    assert.ok(of.filter(each => each.verdict === cause).length >= 3, JSON.stringify(of))
  }
})
