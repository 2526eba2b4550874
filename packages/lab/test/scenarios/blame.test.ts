/** The blame scenario: what each alert says, and the brief form. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Estimate,
  errorsOf,
  namedCulprit,
  naiveAlertFires,
  type Operation,
  type Verdict,
} from '../../src/scenarios/blame-figures.ts'
import { runCommand } from './run-command.ts'

const operations = (latencyMs: number, ...verdicts: Verdict[]): Operation[] =>
  verdicts.map(verdict => ({ cause: 'loop', latencyMs, verdict }))

describe('the alerts', () => {
  it('are silent while the operation is as fast as usual, whatever the verdicts', () => {
    const healthy = operations(100, 'loop', 'dependency')
    assert.equal(naiveAlertFires(healthy), false)
    assert.equal(namedCulprit(healthy), undefined)
  })

  it('fire together, and one names whom most of the slow ones blame', () => {
    const slow = [...operations(400, 'network', 'network', 'loop'), ...operations(100, 'loop', 'loop')]
    assert.equal(naiveAlertFires(slow), true)
    assert.equal(namedCulprit(slow), 'network')
  })

  it('say nothing of no operations', () => {
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
    // Another process that takes the core for long may change one verdict.
    assert.ok(of.filter(each => each.verdict === cause).length >= 3, JSON.stringify(of))
  }
})
