/** The live run: the command bare and protected, both with the load that the page sets, until the user ends it. */
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { type Arm, armsOf, namedArms } from '../melt/arms.ts'
import { remeasureCapacity, searchCapacity } from '../melt/capacity.ts'
import { formatRate } from '../report/format.ts'
import type { LiveMeasured } from './measured.ts'
import type { LiveOptions } from './options.ts'
import { capacityContext, coresInWords, startSides } from './sides.ts'
import { type Steered, steer } from './steer.ts'
import { UserError } from '../user-error.ts'
import { liveView } from './view.ts'

export interface LiveParts extends Pick<Steered, 'options' | 'onServing' | 'ending'> {
  /** Aborting it leaves out the second measurement of the capacity. */
  readonly skipping: AbortSignal
}

export function liveScenario({ options, onServing, ending, skipping }: LiveParts): Scenario<unknown> {
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
      const found = given === undefined ? await searchCapacity(capacityContext(context, options, sides)) : undefined
      const capacity = { ...(found ?? { rate: given! }), given: found === undefined, after: null }
      measured.capacity = capacity
      context.line(`capacity ${formatRate(capacity.rate)}/s, used for both`)
      await steer(context, measured, { options, sides, onServing, ending })
      if (found === undefined || context.signal.aborted) return
      for (const { app } of sides) await app.stop()
      const signal = AbortSignal.any([context.signal, skipping])
      const again = await capacityAfter({ ...context, signal }, { options, arms, users: found.users })
      const isSteady = found.isSteady !== false && again.isSteady !== false
      measured.capacity = { ...capacity, ...again, isSteady, generator: found.generator ?? again.generator }
    },
    view: measured => liveView(measured, arms),
  })
}

type Again = Pick<NonNullable<LiveMeasured['capacity']>, 'after' | 'whyNoAfter' | 'isSteady' | 'generator'>

/**
 * Measures on newly started processes, because the others may still work off a backlog. If the app does not start or
 * answer again, the results remain without this capacity.
 */
async function capacityAfter(
  context: Context,
  { options, arms, users }: { readonly options: LiveOptions; readonly arms: readonly Arm[]; readonly users: number },
): Promise<Again> {
  context.status('starting both anew, to measure the capacity again (Ctrl-C leaves it out)')
  try {
    const sides = await startSides(context, options, arms)
    const { rate, isSteady, generator } = await remeasureCapacity(capacityContext(context, options, sides), users)
    context.line(`capacity again ${formatRate(rate)}/s`)
    return { after: rate, isSteady, generator }
  } catch (error) {
    if (context.signal.aborted) return { after: null }
    if (!(error instanceof UserError)) throw error
    const [why] = error.message.split('\n')
    return { after: null, whyNoAfter: why }
  }
}
