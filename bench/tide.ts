/**
 * Human Tide at one load, bare and protected in turn, each round in a process of its own: what of the positions that are
 * due is stored within a second. The experiment (`meltlab run tide`) climbs once; this tells what one of its steps scatters.
 *
 *   node bench/tide.ts [--phones 7000] [--seconds 5] [--steps 1] [--rounds 3] [--arms bare,meltproof] [--checkout DIR]
 *
 * `--steps`: so many loads one after the other on the same process, as phones that come and go. `--checkout`: another
 * clone of this repository, built, whose app is measured in turn as well (`arm@DIR`). Writes nothing.
 */
import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { progressOn } from '../packages/lab/src/progress.ts'
import { allowedCores, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { makeContext } from '../packages/lab/src/experiment/context.ts'
import { coresOf } from '../packages/lab/src/experiment/core-roles.ts'
import { phoneRequest, startDatabase } from '../packages/lab/src/scenarios/tide-app.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const { values, whole, chosen } = scriptOptions(import.meta.filename, {
  phones: { type: 'string', default: '7000' },
  seconds: { type: 'string', default: '5' },
  steps: { type: 'string', default: '1' },
  rounds: { type: 'string', default: '3' },
  arms: { type: 'string', default: 'bare,meltproof' },
  checkout: { type: 'string', multiple: true, default: [] },
})
const [phones, seconds, steps, rounds] = [whole('phones'), whole('seconds'), whole('steps'), whole('rounds')]
const arms = chosen('arms', ['bare', 'meltproof'])
const here = join(import.meta.dirname, '..')
const checkouts = [here, ...values.checkout.map(folder => resolve(folder))]

const cores = coresOf(allowedCores())
if (cores !== undefined) pinSelf(cores.lab)
const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new Error('interrupted')))
const { context, doubts, end } = makeContext({
  form: 'full',
  signal: stop.signal,
  progress: progressOn(process.stderr),
  cores,
})
try {
  const database = await startDatabase(context)
  for (let round = 1; round <= rounds; round++) {
    for (const checkout of checkouts) for (const arm of arms) await measure(database.url, checkout, arm, round)
  }
} finally {
  await end()
}
for (const doubt of doubts) console.log(`doubtful: ${doubt}`)

async function measure(databaseUrl: string, checkout: string, arm: 'bare' | 'meltproof', round: number): Promise<void> {
  const name = checkout === here ? arm : `${arm}@${checkout}`
  const app = await context.start({
    name: `human-tide, ${name}`,
    run: [process.execPath, join(checkout, 'examples/human-tide/src/main.ts')],
    core: 'server',
    env: { DATABASE_URL: databaseUrl, LOG: 'off', PROTECT: arm === 'bare' ? 'off' : 'on' },
  })
  for (let step = 1; step <= steps; step++) {
    const prefix = randomBytes(8).toString('hex')
    const watching = app.watch()
    const load = phoneRequest(app.origin, { prefix, phones, durationMs: seconds * 1000 })
    const { scheduled, good, answered, okLatency, elapsedMs, seconds: each } = await context.load(name, load)
    const { cpuMs } = await watching.stop()
    app.check()
    console.log(
      [
        `round ${round}, step ${step}, ${name}: of ${scheduled} ${good} stored within 1 s`,
        `${answered['200'] ?? 0} stored, ${answered['503'] ?? 0} shed`,
        `p50 ${okLatency.percentile(50).toFixed(0)} ms, p99 ${okLatency.percentile(99).toFixed(0)} ms`,
        `${(cpuMs / elapsedMs).toFixed(2)} cores`,
        `each second ${each.map(second => second.good).join(' ')}`,
      ].join('; '),
    )
  }
  await app.stop()
}
