/** A fleet whose service waits, as for a database, so that no core limits it. */
import type { Scenario } from '../experiment/scenario.ts'
import { fleetOf } from './fleet-run.ts'

export const fleet: Scenario<unknown> = fleetOf({
  name: 'fleet',
  title: 'An uneven fleet',
  story:
    'Four instances of a service that waits for its database, one four times slower, behind HAProxy and Envoy, told and not told.',
  form: 'wait',
})
