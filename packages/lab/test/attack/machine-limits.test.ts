/** Plans that a machine cannot send, and plans that it can. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseImpossible, thisMachine } from '../../src/attack/machine-limits.ts'
import type { LoadPlan } from '../../src/load/plan.ts'
import { UserError } from '../../src/user-error.ts'
import { madePlan } from './made-outcome.ts'

const machine = { cores: 2, openFiles: 1024, localPorts: 500 }
const open = (rate: number, rampTo: number): LoadPlan['arrival'] => ({
  kind: 'open',
  schedule: {
    phases: [{ kind: 'ramp', fromRate: rate, toRate: rampTo, durationMs: 1000 }],
    spacing: 'even',
    seed: 1,
  },
})
const refused = (plan: Partial<LoadPlan>, message: RegExp, servers = 1): void =>
  assert.throws(() => refuseImpossible(madePlan(plan), servers, machine), { name: UserError.name, message })

test('a rate above what the available cores can send is refused', () => {
  refused({ arrival: open(1, 300_000) }, /^300,000\/s cannot be sent from here: a core sends at most 250,000\/s/)
  refused({ arrival: open(600_000, 1), threads: 8 }, /meltlab has 2 \(2 in the machine, 8 threads\)/)
  refuseImpossible(madePlan({ arrival: open(1, 500_000), threads: 2 }), 1, machine)
})

test('more standing connections than open files or local ports is refused', () => {
  const standing = (count: number): Partial<LoadPlan> => ({ connections: { kind: 'keep-alive', count, max: count } })
  refused(standing(1000), /1,000 connections exceed the 1,024 files that this process may open: raise ulimit -n/, 3)
  refused(standing(600), /600 connections exceed the local ports of this machine: 500 to each server/)
  refuseImpossible(madePlan(standing(900)), 2, machine)
  const unlimited = { cores: 2, openFiles: Number.POSITIVE_INFINITY, localPorts: Number.POSITIVE_INFINITY }
  refuseImpossible(madePlan(standing(1_000_000)), 1, unlimited)
})

test('thisMachine() reports at least one core', () => assert.ok(thisMachine().cores >= 1))
