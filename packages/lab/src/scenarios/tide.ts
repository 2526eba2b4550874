/** The tide experiment (2013): every position of walking phones is stored. How many phones can one process serve? */
import { randomBytes } from 'node:crypto'
import { runLoad } from '../load/run.ts'
import { planOf } from '../load/load-request.ts'
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { type PhoneLoad, phoneRequest, startDatabase, startTide, type TideArm, type TideDatabase } from './tide-app.ts'
import { tideExpects } from './tide-expects.ts'
import { carried, type TideCrash, type TideMeasured, type TideStep } from './tide-measured.ts'
import { tidePublished, tideView } from './tide-view.ts'

const bare: TideArm = { name: 'bare', env: { PROTECT: 'off', LOG: 'off' } }
const logging: TideArm = { name: 'console.log', env: { PROTECT: 'off', LOG: 'console' } }
const guarded: TideArm = { name: 'meltproof', env: { PROTECT: 'on', LOG: 'off' } }
const arms = [bare, logging, guarded]

/** Steps after the first that the process cannot serve: they show the effect of overload. */
const STEPS_BEYOND = 1
/** With up to this number of phones, opening connections would take much of the CPU time, so these steps are longer. */
const FEW = 100
const FEW_TAKE_LONGER = 3
/** Load before the measurement, so that V8 compiles the code. */
const WARM_UP = { phones: 300, durationMs: 3000 }

export const tide: Scenario<unknown> = scenario<TideMeasured>({
  name: 'tide',
  title: 'Human Tide',
  story:
    'Phones send where they are once a second, Express stores each position in PostgreSQL: how many, and is any lost?',
  published: tidePublished,
  arms: [
    { name: bare.name, kind: 'bare', what: 'examples/human-tide without protect(): Express 5, pg, group commit' },
    { name: logging.name, kind: 'also', what: 'the same with one console.log a request, into a pipe that is read' },
    { name: guarded.name, kind: 'protected', what: 'the same as bare with protect(server), as it is published' },
  ],
  expects: tideExpects(arms.map(({ name }) => name)),
  blank: () => ({ steps: [] }),
  async run(context, measured) {
    const database = await startDatabase(context)
    for (const arm of arms) {
      const app = await startTide(context, arm, database.url)
      const durationMs = context.pick({ brief: 1000, quick: 4000, full: 20_000 })
      await context.load(`${arm.name}, warming up`, {
        ...phoneRequest(app.origin, newPhones(WARM_UP.phones, WARM_UP.durationMs)),
        warmUp: true,
      })
      let beyond = 0
      for (const phones of context.pick({
        brief: [50, 200],
        quick: [100, 1000, 3000, 5000, 7000, 9000, 12_000, 16_000],
        full: [100, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 5000, 6000, 7000, 8000, 10_000, 12_000, 16_000],
      })) {
        const stepMs = phones > FEW ? durationMs : durationMs * FEW_TAKE_LONGER
        const step = await walk(context, database, { arm, app, load: newPhones(phones, stepMs) })
        measured.steps.push(step)
        if (!carried(step) && beyond++ >= STEPS_BEYOND) break
      }
      await app.stop()
    }
    measured.crash = await crashes(context, database)
  },
  view: tideView,
})

interface Walk {
  readonly arm: TideArm
  readonly app: Awaited<ReturnType<typeof startTide>>
  readonly load: PhoneLoad
}

const newPhones = (phones: number, durationMs: number): PhoneLoad => ({
  prefix: randomBytes(8).toString('hex'),
  phones,
  durationMs,
})

async function walk(context: Context, database: TideDatabase, { arm, app, load }: Walk): Promise<TideStep> {
  const { phones, durationMs } = load
  const watching = app.watch()
  const outcome = await context.load(`${arm.name}, ${phones} phones`, phoneRequest(app.origin, load))
  const { cpuMs, peakRssBytes } = await watching.stop()
  app.check()
  context.status(`${arm.name}, ${phones} phones: looking into the database`)
  const acknowledged = outcome.acknowledged.length
  const shed = outcome.answered['503'] ?? 0
  return {
    arm: arm.name,
    phones,
    durationMs,
    due: outcome.scheduled,
    acknowledged,
    inTime: outcome.good,
    shed,
    failed: outcome.scheduled - acknowledged - shed,
    p50Ms: acknowledged > 0 ? outcome.okLatency.percentile(50) : null,
    p99Ms: acknowledged > 0 ? outcome.okLatency.percentile(99) : null,
    // Includes the CPU time of opening the connections: an overestimate is safer than an underestimate.
    cores: cpuMs / outcome.elapsedMs,
    peakRssBytes,
    ...(await database.missing(load, outcome.acknowledged)),
  }
}

/** Does not use `context.load`: here broken connections are expected, and no reason for doubt. */
async function crashes(context: Context, database: TideDatabase): Promise<TideCrash> {
  const partMs = context.pick({ brief: 1500, quick: 3000, full: 10_000 })
  const phones = context.pick({ brief: 100, quick: 1000, full: 1000 })
  const load = newPhones(phones, 4 * partMs)
  const app = await startTide(context, guarded, database.url)
  const { port } = new URL(app.origin)
  const running = runLoad(planOf(phoneRequest(app.origin, load)), { signal: context.signal })
  context.status('the service is killed, then PostgreSQL')
  await context.sleep(partMs)
  process.kill(app.pid, 'SIGKILL')
  const again = await startTide(context, guarded, database.url, port)
  await context.sleep(partMs)
  await database.crash()
  await context.sleep(partMs / 3)
  await database.restart()
  const outcome = await running
  context.signal.throwIfAborted()
  again.check()
  const found = await database.missing(load, outcome.acknowledged)
  await again.stop()
  return { phones, due: outcome.scheduled, acknowledged: outcome.acknowledged.length, ...found }
}
