/** The scoreboard: one workload, bare, with each rival and with meltproof, at multiples of its capacity. */
import type { Context, Scenario } from '../../experiment/scenario.ts'
import { freePort } from '../../launch/free-port.ts'
import { checkOptions, type MeltOptions } from '../../melt/options.ts'
import { meltScenario } from '../../melt/scenario.ts'
import type { Form } from '../../report/result.ts'
import { type Ports, portsOf } from '../fleet-instance.ts'
import { startPostgres } from '../postgres.ts'
import { armOf, armsHere } from './arms.ts'
import { keptFigures, type OverloadMeasured, overloadView } from './view.ts'
import { ARMS, LOADS, type Mode, WORKLOADS, type Workload } from './workloads.ts'

const STANDING = 1500
/** The maximum of new connections per second from one generator core (bench/generator.ts). */
const MOST_FRESH = 4000

export interface OverloadChoice {
  readonly workload: string
  readonly mode: Mode
  /** @default all that can run on this machine */
  readonly arms?: readonly string[]
  readonly loads?: readonly number[]
  readonly rounds?: number
}

export function overload({ workload: name, mode, arms, loads, rounds }: OverloadChoice): Scenario<unknown> {
  const workload = WORKLOADS[name]!
  let ports: Ports
  const names = arms === undefined ? armsHere() : ARMS.filter(arm => arms.includes(arm))
  const chosen = names.map(arm => armOf(name, arm, () => ports))
  const fresh = mode === 'fresh'
  return meltScenario({
    name: `overload-${name}${fresh ? '-fresh' : ''}`,
    title: `${workload.title}, ${fresh ? 'a new connection for every request' : '1,500 standing connections'}`,
    story: workload.story,
    published: [],
    arms: chosen,
    options: form => ({
      ...optionsOf(form, name, workload, mode),
      multiples: workload.loads ?? loads ?? (form === 'full' ? LOADS : [0.9, 10]),
      rounds: rounds ?? (form === 'full' ? 3 : 1),
    }),
    shape: fresh ? { ...workload, mostRate: MOST_FRESH } : { ...workload, crowd: true },
    async prepare(context, measured) {
      const overloaded = measured as OverloadMeasured
      const left = arms === undefined ? ARMS.filter(arm => !names.includes(arm)) : []
      if (left.length > 0) context.line(`there is no HAProxy here, so these arms are left out: ${left.join(', ')}`)
      ports = await portsOf()
      if (workload.bound === 'cpu') overloaded.shedUs ??= await measureShedUs(context, fresh)
      return {
        MELTPROOF_ADMIN: `127.0.0.1:${ports.admin}`,
        MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${ports.agent}`,
        ...(workload.needsPostgres === true ? { DATABASE_URL: (await startPostgres(context)).connectionString } : {}),
      }
    },
    view: measured => overloadView(measured, chosen, workload, mode),
    kept: keptFigures,
  })
}

function optionsOf(form: Form, name: string, workload: Workload, mode: Mode): MeltOptions {
  const usual = checkOptions(
    {
      ...{ name, also: [], header: [], method: 'GET', path: workload.path ?? '/', out: '' },
      ...{ slo: '1s', startTimeout: '15s', spacing: 'poisson', rounds: '1', timeout: '3s' },
      ...(mode === 'fresh' ? { fresh: true } : { connections: String(STANDING) }),
      ...(form === 'full' ? { duration: '5s' } : { quick: true }),
    },
    ['node'],
  )
  const windowMs = form === 'full' ? (workload.durationMs ?? usual.durationMs) : usual.durationMs
  return {
    ...usual,
    headers: workload.headers ?? {},
    timeoutMs: workload.timeoutMs ?? usual.timeoutMs,
    durationMs: windowMs + usual.sloMs,
    afterWindowMs: usual.sloMs,
  }
}

/** The cost of one shed by meltproof on this machine: the server's CPU time, us. */
async function measureShedUs(context: Context, fresh: boolean): Promise<number> {
  const cpuPort = await freePort()
  const app = await context.start({
    name: 'the server that sheds',
    run: 'overload/shed.js',
    core: 'server',
    env: { CPU_PORT: String(cpuPort) },
  })
  const offer = async (durationMs: number): Promise<number> => {
    const { answered } = await context.load('what a shed costs', {
      url: app.origin,
      durationMs,
      spacing: 'poisson',
      warmUp: true,
      ...(fresh ? { rate: 1500, fresh } : { rate: 10_000, connections: STANDING }),
    })
    return Object.values(answered).reduce((sum, count) => sum + count, 0)
  }
  const cpuUs = async (): Promise<number> => Number(await (await fetch(`http://127.0.0.1:${cpuPort}`)).text())
  await offer(2000)
  const before = await cpuUs()
  const answers = await offer(3000)
  const shedUs = ((await cpuUs()) - before) / answers
  await app.stop()
  context.line(`r, the cost of one shed: ${shedUs.toFixed(1)} us`)
  return shedUs
}
