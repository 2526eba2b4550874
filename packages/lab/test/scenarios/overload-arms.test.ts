/** Two arms of the scoreboard run behind a real HAProxy. These tests check that their load goes through it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runScenario } from '../../src/experiment/run-scenario.ts'
import type { MeltMeasured } from '../../src/melt/measured.ts'
import { checkOptions } from '../../src/melt/options.ts'
import { meltScenario } from '../../src/melt/scenario.ts'
import { needHaproxy } from '../../src/scenarios/fleet-haproxy.ts'
import { type Ports, portsOf } from '../../src/scenarios/fleet-instance.ts'
import { armOf, armsHere } from '../../src/scenarios/overload/arms.ts'
import { ARMS } from '../../src/scenarios/overload/workloads.ts'
import { skipWithout } from './balancers.ts'

const arms = ['haproxy-guessed', 'haproxy-agent'] as const

test('arms behind HAProxy are answered through it', skipWithout(needHaproxy), async () => {
  let ports: Ports | undefined
  const raw = {
    name: 'arms',
    also: [],
    header: [],
    method: 'GET',
    slo: '1s',
    rounds: '1',
    startTimeout: '60s',
    out: '',
  }
  const options = checkOptions({ ...raw, spacing: 'even', at: '1', duration: '3s', timeout: '10s' }, ['node'])
  const scenario = meltScenario({
    ...{ name: 'arms', title: '', story: '', published: [], shape: { capacity: 20 } },
    arms: arms.map(arm => armOf('pool', arm, () => ports!)),
    options: () => ({ ...options, afterWindowMs: 1000 }),
    async prepare() {
      ports = await portsOf()
      const { admin, agent } = ports
      return { MELTPROOF_ADMIN: `127.0.0.1:${admin}`, MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${agent}` }
    },
  })
  const { result, failure } = await runScenario(scenario, {
    ...{ form: 'quick', commandLine: '', labVersion: '', signal: new AbortController().signal },
    progress: { status() {}, line() {}, clear() {} },
  })
  assert.equal(failure, undefined)
  const { steps, setup } = result.measured as MeltMeasured
  assert.deepEqual(setup.window, { from: 1, to: 2 })
  for (const [at, arm] of arms.entries()) {
    assert.equal(steps[at]!.arm, arm)
    // The machine may be busy, so the test does not check how many answers are in time.
    assert.ok((steps[at]!.answered['200'] ?? 0) > 0, `${arm}: ${JSON.stringify(steps[at]!.failedByCode)}`)
  }
})

test('only the arms behind HAProxy are left out if it is not installed', () => {
  const path = process.env['PATH']
  try {
    process.env['PATH'] = '/nowhere'
    assert.deepEqual(
      armsHere(),
      ARMS.filter(arm => !arm.startsWith('haproxy')),
    )
  } finally {
    process.env['PATH'] = path
  }
})
