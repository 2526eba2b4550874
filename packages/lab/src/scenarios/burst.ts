/** The burst experiment (2013): a server that can do 200 requests a second is asked for many times that. */
import { fileURLToPath } from 'node:url'
import type { Scenario } from './scenario.ts'

const app = (name: string): string => fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))

export const burst: Scenario = {
  name: 'burst',
  title: 'A burst of load',
  story:
    'Every request burns 5 ms of CPU over five asynchronous calls, so one process can serve 200 a second at most. ' +
    'Offered more, it answers fewer in time, and soon none: every request is worked on, and each is finished too late. ' +
    'Shedding by a sampled event-loop lag, as toobusy-js does, answers quickly but serves little.',
  command: ['node', app('burst.js')],
  also: [`toobusy-js=node '${app('burst-toobusy.js')}'`],
  expects: [
    'bare: goodput falls towards zero above the capacity',
    'protected: at least 95 % of the capacity at every load above it, admitted p99 at most 200 ms',
  ],
}
