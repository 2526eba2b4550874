/** The burst experiment (2013): a server that can do 200 requests a second is asked for many times that. */
import { appFile } from '../experiment/app-file.ts'
import { expectation } from '../experiment/expectation.ts'
import type { Expectation, Scenario } from '../experiment/scenario.ts'
import { armsOf } from '../melt/arms.ts'
import type { MeltMeasured, Row } from '../melt/measured.ts'
import { checkOptions } from '../melt/options.ts'
import { meltScenario } from '../melt/scenario.ts'
import { formatMs, formatMultiple, formatPercent } from '../report/format.ts'

const quoted = (word: string): string => (/\s/.test(word) ? `'${word}'` : word)

export const burstCommand: readonly string[] = ['node', appFile('burst.js')]
/** Further arms, as --also takes them. */
export const burstAlso: readonly string[] = [`toobusy-js=node ${quoted(appFile('burst-toobusy.js'))}`]

const above =
  (arm: string) =>
  ({ rows }: MeltMeasured): Row[] | undefined => {
    const found = rows.filter(row => row.arm === arm && row.multiple > 1)
    return found.length === 0 ? undefined : found
  }
const keptAt = (rows: readonly Row[]): string =>
  rows.map(row => `${formatPercent(row.ofCapacity)} at ${formatMultiple(row.multiple)}`).join(', ')

const expects: readonly Expectation<MeltMeasured>[] = [
  expectation('bare: goodput falls towards zero above the capacity', above('bare'), rows => [
    rows.at(-1)!.ofCapacity < 0.1,
    keptAt(rows),
  ]),
  expectation(
    'protected: at least 95 % of the capacity at every load above it, admitted p99 at most 200 ms',
    above('protected'),
    rows => {
      const p99 = Math.max(...rows.map(row => row.admittedMs.p99 ?? Number.POSITIVE_INFINITY))
      return [rows.every(row => row.ofCapacity >= 0.95) && p99 <= 200, `${keptAt(rows)}; p99 ${formatMs(p99)}`]
    },
  ),
]

export const burst: Scenario<unknown> = made('burst', 'A burst of load', false)
export const burstFresh: Scenario<unknown> = made('burst-fresh', 'A burst of new connections', true)

function made(name: string, title: string, fresh: boolean): Scenario<unknown> {
  return meltScenario({
    name,
    title,
    story: `An app that can serve 200 requests a second is offered many times that${fresh ? ', each on a new connection' : ''}: bare, with toobusy-js, with meltproof.`,
    published: [
      { what: 'unprotected at 1200/s', value: '40 s average latency, over 80 % TCP failures' },
      { what: 'shedding by event-loop lag', value: 'average mostly under 10 s, immediate 503s' },
      { what: 'its known weakness', value: 'successes fall to about 70 % of the unprotected volume' },
    ],
    arms: armsOf(burstCommand, burstAlso),
    expects,
    needs: ['toobusy-js'],
    options: form =>
      checkOptions(
        {
          ...{ name, fresh, also: burstAlso, header: [], method: 'GET', out: '' },
          ...{ slo: '1s', startTimeout: '15s', spacing: 'even' },
          ...(form === 'full' ? { rounds: '3', duration: '5s', timeout: '3s' } : { rounds: '1', quick: true }),
        },
        burstCommand,
      ),
  })
}
