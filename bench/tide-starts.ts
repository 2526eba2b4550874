/**
 * Measures cold starts of examples/human-tide (Express, PostgreSQL, commits in groups) far below its capacity, where
 * every shed is a false shed. Each round starts a new service and offers it the loads of --phones one after another.
 * Node has its own core; PostgreSQL and the load share another.
 *
 *   node bench/tide-starts.ts [--rounds 10] [--phones 300,1000,3000] [--seconds 4]
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type App, launch } from '../packages/lab/src/launch/command.ts'
import { allowedCores, coresOf, pinned, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { phoneRequest } from '../packages/lab/src/scenarios/tide-app.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '10' },
  phones: { type: 'string', default: '300,1000,3000' },
  seconds: { type: 'string', default: '4' },
})
const durationMs = 1000 * options.whole('seconds')
const steps = options.values.phones.split(',').map(Number)
const cores = coresOf(allowedCores())
if (cores !== undefined) pinSelf(cores.lab)

async function start(name: string, command: readonly string[], env: NodeJS.ProcessEnv, page: string): Promise<App> {
  const app = await launch({ name, command, env: { ...process.env, ...env } })
  const answers = (): Promise<boolean> =>
    fetch(page).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await answers())) {
    if (app.ended() !== undefined) throw new Error(`${name} ${app.ended()}: ${app.lastWords()}`)
    await sleep(50)
  }
  return app
}

const example = 'examples/human-tide'
const atDatabase = await freePort()
const page = `http://127.0.0.1:${atDatabase}/url`
const lab = [process.execPath, `${example}/scripts/lab-database.ts`]
const database = await start('PostgreSQL', pinned(lab, cores?.dependency), { PORT: String(atDatabase) }, page)
const { url } = (await (await fetch(page)).json()) as { url: string }

const rows: string[][] = []
for (let round = 1; round <= options.whole('rounds'); round++) {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const env = { PORT: String(port), DATABASE_URL: url, PROTECT: 'on', LOG: 'off' }
  const main = [process.execPath, '--no-warnings', `${example}/src/main.ts`]
  const app = await start('human-tide', pinned(main, cores?.server), env, `${origin}/`)
  for (const phones of steps) {
    const load = { prefix: randomBytes(8).toString('hex'), phones, durationMs }
    const { answered, okLatency, scheduled } = await runLoad(planOf(phoneRequest(origin, load)))
    const shed = answered['503'] ?? 0
    rows.push([
      String(round),
      String(phones),
      String(scheduled),
      String(shed),
      `${okLatency.percentile(99).toFixed(0)} ms`,
    ])
    console.error(`round ${round}, ${phones} phones: ${shed} of ${scheduled} shed`)
  }
  await app.stop()
}
await database.stop()
console.log(markdownTable(['round', 'phones', 'requests', 'shed', 'p99'], rows))
process.exit()
