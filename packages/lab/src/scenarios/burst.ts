/** The burst experiment (2013): a server with a capacity of 200 requests a second gets many times that. */
import { appFile } from '../experiment/app-file.ts'
import type { Scenario } from '../experiment/scenario.ts'
import { armsOf } from '../melt/arms.ts'
import { checkOptions } from '../melt/options.ts'
import { meltScenario } from '../melt/scenario.ts'
import { burstExpects, burstPublished } from './burst-view.ts'

const quoted = (word: string): string => (/\s/.test(word) ? `'${word}'` : word)

export const burstCommand: readonly string[] = ['node', appFile('burst.js')]
/** Further arms, in the syntax of --also. */
export const burstAlso: readonly string[] = [`toobusy-js=node ${quoted(appFile('burst-toobusy.js'))}`]

export const burst: Scenario<unknown> = meltScenario({
  name: 'burst',
  title: 'A burst of load',
  story:
    'An app that can serve 200 requests a second is offered many times that: bare, with toobusy-js, with meltproof.',
  published: burstPublished,
  arms: armsOf(burstCommand, burstAlso),
  expects: burstExpects,
  needs: ['toobusy-js'],
  options: form =>
    checkOptions(
      {
        ...{ name: 'burst', fresh: false, also: burstAlso, header: [], method: 'GET', out: '' },
        ...{ slo: '1s', startTimeout: '15s', spacing: 'even' },
        ...(form === 'full' ? { rounds: '3', duration: '5s', timeout: '3s' } : { rounds: '1', quick: true }),
      },
      burstCommand,
    ),
})
