/**
 * How many planted causes does `meltlab audit` find, and what does it find in clean apps? The seed selects five of the
 * twenty causes (lib/planted-app.mjs) for each mix; the mixes use node:http, Express and Fastify round robin. Two clean
 * apps follow.
 *
 *   node bench/audit-planted.ts [--mixes 24] [--seed 1] [--dry]
 *
 * Bars: it finds 95 % of the planted causes, and reports no other cause. Exit code 3 if a bar is missed. Writes
 * bench/results/audit-planted.json unless --dry. Build first. A mix takes about twenty seconds.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cause } from '../packages/lab/src/audit/causes.ts'
import type { Finding } from '../packages/lab/src/audit/judge.ts'
import type { AuditResult } from '../packages/lab/src/audit/result.ts'
import { seededRandom } from '../packages/lab/src/load/random.ts'
import { startDependencies } from '../packages/lab/test/audit/dependencies.ts'
import { audit } from '../packages/lab/test/audit/run-audit.ts'
import { writeWhole } from '../packages/lab/src/write-whole.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { printMissedBars } from './lib/bars.ts'
import { type Conditions, conditions } from './lib/conditions.ts'
import { resultFile } from './lib/parts.ts'

const IN_A_MIX = 5
const LEAST_SHARE = 0.95
const FRAMEWORKS = ['http', 'express', 'fastify'] as const

/** The cause that the audit must find for each planted name. The last two names concern the server and have no path. */
const PLANTS: Readonly<Record<string, Cause>> = {
  hashPassword: 'loop-held',
  parseReport: 'loop-held',
  packAnswer: 'loop-held',
  matchSlowly: 'loop-held',
  sortEverything: 'loop-held',
  fetchPrice: 'fetch-unbounded',
  fetchPost: 'fetch-unbounded',
  fetchBoth: 'fetch-unbounded',
  getStock: 'http-unbounded',
  postOrder: 'http-unbounded',
  queryUser: 'pg-query-unbounded',
  queryInTransaction: 'pg-query-unbounded',
  waitForConnection: 'pg-pool-endless',
  mysqlQuery: 'mysql-query-unbounded',
  mysqlWait: 'mysql-pool-endless',
  queueAtAgent: 'agent-endless',
  logToStdout: 'stdout-writes',
  logToStderr: 'stdout-writes',
  serverTimeouts: 'server-timeouts',
  noDrain: 'no-drain',
}
const APP = join(import.meta.dirname, 'lib/planted-app.mjs')
const lines = readFileSync(APP, 'utf8').split('\n')
const lineOf = (name: string): number => lines.findIndex(line => line.startsWith(`  ${name}:`)) + 1

const QUIET = ['hello', 'user', 'price', 'stock']
const names = Object.keys(PLANTS)

interface Mix {
  readonly framework: string
  /** Empty for a clean app. */
  readonly planted: readonly string[]
  readonly missed: readonly string[]
  /** Findings that are not planted, as text. */
  readonly extra: readonly string[]
}

interface AuditPlanted extends Conditions {
  readonly seed: number
  readonly sought: number
  readonly found: number
  /** Findings that are not planted, in all apps and in the clean ones. */
  readonly extra: number
  readonly inClean: number
  readonly mixes: readonly Mix[]
  readonly missed: readonly string[]
}

const options = scriptOptions(import.meta.filename, {
  mixes: { type: 'string', default: '24' },
  seed: { type: 'string', default: '1' },
  dry: { type: 'boolean', default: false },
})
const [mixes, seed] = [options.whole('mixes'), options.whole('seed')]
const random = seededRandom(seed)
const where = conditions()

function drawn(): string[] {
  const left = [...names]
  return Array.from({ length: IN_A_MIX }, () => left.splice(Math.floor(random() * left.length), 1)[0]!)
}

async function findingsOf(planted: readonly string[], framework: string): Promise<AuditResult> {
  Object.assign(process.env, { PLANTED: planted.join(), FRAMEWORK: framework })
  const paths = [...QUIET, ...planted.filter(name => lineOf(name) > 0)].flatMap(name => ['--path', `/${name}`])
  const { stdout, stderr } = await audit(['--json', '--duration', '5s', ...paths, '--', process.execPath, APP])
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as AuditResult
}

/** True if the finding has the cause and a line in the function of `name`, or no line for a cause without a path. */
function isOf({ cause, where }: Finding, name: string): boolean {
  if (cause !== PLANTS[name]) return false
  const begin = lineOf(name)
  const line = Number(/planted-app\.mjs:(\d+)/.exec(where ?? '')?.[1] ?? 0)
  const end = begin + lines.slice(begin).findIndex(each => /^ {0,2}\S/.test(each) && !/^ {2}\}/.test(each))
  return begin === 0 ? where === null : line >= begin && line <= end
}

const dependencies = await startDependencies()
Object.assign(process.env, dependencies.env)
const all: Mix[] = []
try {
  for (let mix = 0; mix < mixes + 2; mix++) {
    const planted = mix < mixes ? drawn() : []
    // The clean apps use Express and Fastify.
    const framework = mix < mixes ? FRAMEWORKS[mix % FRAMEWORKS.length]! : FRAMEWORKS[1 + mix - mixes]!
    const { findings } = await findingsOf(planted, framework)
    const missed = planted.filter(name => !findings.some(each => isOf(each, name)))
    const extra = findings
      .filter(each => !planted.some(name => isOf(each, name)))
      .map(each => `${each.cause} ${each.where ?? ''} (${each.what})`)
    all.push({ framework, planted, missed, extra })
    console.log(
      `${framework.padEnd(8)}${planted.join(' ') || 'clean'}: ${planted.length - missed.length} of ${planted.length}` +
        `${missed.length === 0 ? '' : `, missed ${missed.join(' ')}`}${extra.length === 0 ? '' : `, not planted: ${extra.join('; ')}`}`,
    )
  }
} finally {
  await dependencies.stop()
}
const count = (those: readonly Mix[], of: (mix: Mix) => readonly string[]): number => those.flatMap(of).length
const sought = count(all, mix => mix.planted)
const found = sought - count(all, mix => mix.missed)
const extra = count(all, mix => mix.extra)
const clean = all.filter(({ planted }) => planted.length === 0)
const inWords = `${found} of ${sought} planted causes found (${((100 * found) / sought).toFixed(1)} %)`
console.log(`${inWords}, ${extra} that are not planted`)
const missed = [
  ...(found >= LEAST_SHARE * sought ? [] : [inWords]),
  ...(extra === 0 ? [] : [`${extra} findings were not planted`]),
]
printMissedBars(missed)
const inClean = count(clean, mix => mix.extra)
const result: AuditPlanted = { ...where, seed, sought, found, extra, inClean, mixes: all, missed }
if (!options.values.dry) writeWhole(resultFile('audit-planted'), `${JSON.stringify(result, null, 2)}\n`)
