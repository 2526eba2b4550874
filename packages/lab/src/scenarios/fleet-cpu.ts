/** A fleet whose service computes; control groups limit each instance to its share of a core. */
import type { Scenario } from '../experiment/scenario.ts'
import { fleetOf } from './fleet-run.ts'

export const fleetCpu: Scenario<unknown> = fleetOf({
  name: 'fleet-cpu',
  title: 'An uneven fleet that computes',
  story:
    'The same with a service that computes: one instance has a quarter of the share of the core that the others have.',
  form: 'cpu',
})
