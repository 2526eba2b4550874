/** The live run: the command bare and protected, both with the load that the page sets, until the user ends it. */
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { armsOf, namedArms } from '../melt/arms.ts'
import { formatRate } from '../report/format.ts'
import type { LiveMeasured } from './measured.ts'
import type { LiveOptions } from './options.ts'
import { coresInWords, findCapacity, findCapacityAgain, type Side, startSides } from './sides.ts'
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
      const found =
        given === undefined ? await findCapacity(context, options, sides) : { rate: given, users: undefined }
      const capacity = { ...found, given: given !== undefined, after: null }
      measured.capacity = capacity
      context.line(`capacity ${formatRate(found.rate)}/s, used for both`)
      await steer(context, measured, { options, sides, onServing, ending })
      if (found.users === undefined || context.signal.aborted) return
      const after = await capacityAfter(context, options, found.users, sides)
      measured.capacity = { ...capacity, after }
    },
    view: measured => liveView(measured, arms),
  })
}

/** Null if the app does not start or answer again, which must not cost the results of the load. */
async function capacityAfter(
  context: Context,
  options: LiveOptions,
  users: number,
  before: readonly Side[],
): Promise<number | null> {
  context.status('starting both anew, to measure the capacity again')
  try {
    for (const { app } of before) await app.stop()
    const sides = await startSides(context, options, armsOf(options.melt.command, []))
    const rate = await findCapacityAgain(users, context, options, sides)
    context.line(`capacity again ${formatRate(rate)}/s`)
    return rate
  } catch (error) {
    if (!context.signal.aborted) context.doubt(`the capacity was not measured again: ${(error as Error).message}`)
    return null
  }
}
