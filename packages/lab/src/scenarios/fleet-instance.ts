/** An instance of apps/fleet-service.js, and the balancer in front of several. */
import { freePort } from '../launch/free-port.ts'
import { registerUrl } from '../launch/register-url.ts'
import { UserError } from '../user-error.ts'
import type { Context, RunningApp } from '../experiment/scenario.ts'

export interface Ports {
  readonly service: number
  readonly admin: number
  readonly agent: number
}

export interface Instance {
  readonly app: RunningApp
  readonly ports: Ports
  readonly isGuarded: boolean
}

export interface Balancer {
  readonly app: RunningApp
  readonly origin: string
  /** The number of requests that each instance has received so far. */
  sent(): Promise<readonly number[]>
  /** True if all instances receive requests. */
  isComplete(): Promise<boolean>
}

/** Maximum number of checks of a balancer, one every 20 ms plus the time of the query. */
const LOOKS = 500

export const portsOf = async (): Promise<Ports> => ({
  service: await freePort(),
  admin: await freePort(),
  agent: await freePort(),
})

export async function startInstance(
  context: Context,
  isGuarded: boolean,
  env: Readonly<Record<string, string>>,
  ports?: Ports,
): Promise<Instance> {
  const given = ports ?? (await portsOf())
  const guarded = {
    MELTPROOF_ADMIN: `127.0.0.1:${given.admin}`,
    MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${given.agent}`,
    MELTPROOF_REPORT_LOAD_TO: '127.0.0.1',
  }
  const app = await context.start({
    name: 'the service',
    run: 'fleet-service.js',
    core: 'server',
    env: { NODE_ENV: 'production', PORT: String(given.service), ...(isGuarded ? guarded : {}), ...env },
    ...(isGuarded ? { nodeOptions: `--import ${registerUrl()}` } : {}),
  })
  return { app, ports: given, isGuarded }
}

export type Change = readonly [from: string, to: string]

/** Replaces texts outside comments. */
export function changed(text: string, changes: readonly Change[]): string {
  for (const [from] of changes) if (!text.includes(from)) throw new Error(`the configuration has no '${from}' any more`)
  return text
    .split('\n')
    .map(line => (/^ *#/.test(line) ? line : changes.reduce((made, [from, to]) => made.replace(from, () => to), line)))
    .join('\n')
}

/** Waits until the balancer has found all of its instances. */
export async function complete(context: Context, { app, isComplete }: Omit<Balancer, 'origin'>): Promise<void> {
  for (let looks = 0; !(await isComplete().catch(() => false)); looks++) {
    app.check('before it found all instances')
    if (looks >= LOOKS) throw new UserError(`${app.name} did not find all instances`)
    await context.sleep(20)
  }
}
