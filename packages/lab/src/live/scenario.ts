/** The live run: the command bare and protected, both with the load that the page sets, until the user ends it. */
import { type Scenario, scenario } from '../experiment/scenario.ts'
import { armsOf, namedArms } from '../melt/arms.ts'
import { formatRate } from '../report/format.ts'
import type { LiveMeasured } from './measured.ts'
import { coresInWords, findCapacity, startSides } from './sides.ts'
import { type Steered, steer } from './steer.ts'
import { liveView } from './view.ts'

export type LiveParts = Pick<Steered, 'options' | 'onServing' | 'ending'>

export function liveScenario({ options, onServing, ending }: LiveParts): Scenario<unknown> {
  const { melt } = options
  const arms = armsOf(melt.command, [])
  const { method, path, sloMs, timeoutMs, fresh } = melt
  return scenario<LiveMeasured>({
    name: melt.name,
    title: 'Seen melting',
    story: 'The same load on a command bare and protected, at the same time, as set on the page.',
    published: [],
    expects: [],
    arms: namedArms(arms),
    blank: () => ({
      setup: {
        request: `${method} ${path}, evenly spaced arrivals, open loop`,
        connections: fresh ? 'a new connection for every request' : 'keep-alive connections, more when all are busy',
        sloMs,
        timeoutMs,
        cores: '',
      },
      capacity: null,
      seconds: [],
      rows: [],
      died: {},
    }),
    run: async (context, measured) => {
      measured.setup.cores = coresInWords(context.cores)
      const sides = await startSides(context, options, arms)
      const { capacity: given } = options
      const found = given === undefined ? await findCapacity(context, options, sides) : { rate: given }
      measured.capacity = { ...found, given: given !== undefined }
      context.line(`capacity ${formatRate(found.rate)}/s, used for both`)
      await steer(context, measured, { options, sides, onServing, ending })
    },
    view: measured => liveView(measured, arms),
  })
}
