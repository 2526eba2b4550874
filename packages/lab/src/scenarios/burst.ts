/** The burst experiment (2013): a server that can do 200 requests a second is asked for many times that. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Scenario } from './scenario.ts'

/** Relative where it can be: the command line stands in the report, for others to repeat. */
function app(name: string): string {
  const file = fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))
  const relative = path.relative('', file)
  return relative.startsWith('..') ? file : relative
}

const quoted = (word: string): string => (/\s/.test(word) ? `'${word}'` : word)

export const burst: Scenario = {
  name: 'burst',
  title: 'A burst of load',
  story:
    'Every request burns 5 ms of CPU over five asynchronous calls, so one process can serve 200 a second at most. ' +
    'Offered more, it answers fewer in time, and soon none: every request is worked on, and each is finished too late. ' +
    'Shedding by a sampled event-loop lag, as toobusy-js does, answers quickly but serves little.',
  command: ['node', app('burst.js')],
  also: [`toobusy-js=node ${quoted(app('burst-toobusy.js'))}`],
  expects: [
    'bare: goodput falls towards zero above the capacity',
    'protected: at least 95 % of the capacity at every load above it, admitted p99 at most 200 ms',
  ],
}
