/** The burst experiment (2013): a server that can do 200 requests a second is asked for many times that. */
import { appFile } from '../experiment/app-file.ts'
import type { MeltScenario } from '../experiment/scenario.ts'

const quoted = (word: string): string => (/\s/.test(word) ? `'${word}'` : word)

export const burst: MeltScenario = {
  kind: 'melt',
  name: 'burst',
  title: 'A burst of load',
  story:
    'An app that can serve 200 requests a second is offered many times that: bare, with toobusy-js, with meltproof.',
  published: [
    { what: 'unprotected at 1200/s', value: '40 s average latency, over 80 % TCP failures' },
    { what: 'shedding by event-loop lag', value: 'average mostly under 10 s, immediate 503s' },
    { what: 'its known weakness', value: 'successes fall to about 70 % of the unprotected volume' },
  ],
  command: ['node', appFile('burst.js')],
  also: [`toobusy-js=node ${quoted(appFile('burst-toobusy.js'))}`],
  expects: [
    'bare: goodput falls towards zero above the capacity',
    'protected: at least 95 % of the capacity at every load above it, admitted p99 at most 200 ms',
  ],
}
