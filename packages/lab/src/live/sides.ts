/** Starts the command bare and protected, on separate ports and cores, and measures the bare side's capacity. */
import type { AppSpec, Context, RunningApp } from '../experiment/scenario.ts'
import type { Cores } from '../launch/core-pinning.ts'
import { freePort } from '../launch/free-port.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { registerUrl } from '../launch/register-url.ts'
import { checkAnswers } from '../launch/wait-until-listening.ts'
import { runLoad } from '../load/run.ts'
import type { Arm } from '../melt/arms.ts'
import type { CapacityContext } from '../melt/capacity.ts'
import { startProtectionCheck } from '../melt/protection-check.ts'
import { formatRate } from '../report/format.ts'
import { UserError } from '../user-error.ts'
import type { LiveOptions } from './options.ts'

export interface Side {
  readonly arm: string
  readonly app: RunningApp
  readonly url: string
}

/** Returns the bare side first. With three cores each side has its own; with two the sides share one evenly. */
export async function startSides(
  context: Context,
  options: LiveOptions,
  arms: readonly Arm[],
): Promise<readonly Side[]> {
  const { melt } = options
  const { cores } = context
  const check = await startProtectionCheck()
  context.cleanUp(() => check.close())
  const spin = await calibrateSpin(cores?.server)
  const sides: Side[] = []
  for (const { name, kind, command } of arms) {
    const isProtected = kind === 'protected'
    const app = await startOne(context, {
      name: isProtected ? name : 'the command',
      run: command,
      core: isProtected && hasOwn(cores) ? 'dependency' : 'server',
      env: { [spinVariable]: String(spin), ...(isProtected ? check.env : {}) },
      nodeOptions: isProtected ? `--import ${registerUrl()}` : undefined,
      tls: melt.tls,
      request: melt,
      startTimeoutMs: melt.startTimeoutMs,
    })
    const url = new URL(melt.path, app.origin)
    for (const doubt of await checkAnswers(app, url, melt, melt.timeoutMs)) context.doubt(doubt)
    sides.push({ arm: name, app, url: url.href })
  }
  await check.run(sides[1]!.app, context)
  return sides
}

/** @throws UserError if the command ignores PORT, because two instances cannot share a port */
async function startOne(context: Context, spec: AppSpec): Promise<RunningApp> {
  const why = 'meltlab live runs the command twice at the same time, so it must listen on PORT, and on no other port'
  const asked = String(await freePort())
  const app = await context.start({ ...spec, env: { ...spec.env, PORT: asked } }).catch((error: Error) => {
    if (/is taken by another process/.test(error.message)) throw new UserError(`${error.message}\n${why}`)
    throw error
  })
  if (new URL(app.origin).port === asked) return app
  throw new UserError(`${spec.name} listens at ${app.origin} although PORT is ${asked}: ${why}`)
}

const hasOwn = (cores: Cores | undefined): boolean => cores !== undefined && cores.dependency !== cores.lab

export function coresInWords(cores: Cores | undefined): string {
  if (cores === undefined) return 'nothing is pinned to a core here'
  return hasOwn(cores)
    ? 'each service has its own core, and so has the load'
    : 'both services share one core evenly, and the load has the other'
}

/**
 * While the bare side is measured, the other gets the same load, so that each has the same share of the machine as
 * later.
 */
export function capacityContext(context: Context, { melt }: LiveOptions, sides: readonly Side[]): CapacityContext {
  const [bare, other] = sides as [Side, Side]
  context.status('measuring the capacity: warming up')
  return {
    target: { ...melt, url: bare.url },
    times: melt.capacityTimes,
    run: async plan => {
      const load = (url: string) => runLoad({ ...plan, url }, { signal: context.signal })
      const [outcome] = await Promise.all([load(bare.url), load(other.url)])
      context.signal.throwIfAborted()
      for (const { app } of sides) app.check('while its capacity was measured')
      return outcome
    },
    onProbe: ({ users, goodput }) =>
      context.status(`measuring the capacity: ${users} users on each, ${formatRate(goodput)}/s from the bare one`),
  }
}
