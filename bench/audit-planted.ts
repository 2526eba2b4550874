/**
 * How many planted causes does `meltlab audit` find, and what does it find where nothing is? Mixes of five of twenty
 * (lib/planted-app.mjs) are drawn by a seed, with node:http, Express and Fastify in turn, then two clean apps.
 *
 *   node bench/audit-planted.ts [mixes] [seed]
 *
 * Exit code 1 when fewer than 95 % are found, or anything that is not planted.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cause } from '../packages/lab/src/audit/causes.ts'
import type { Finding } from '../packages/lab/src/audit/judge.ts'
import type { AuditResult } from '../packages/lab/src/audit/result.ts'
import { seededRandom } from '../packages/lab/src/load/random.ts'
import { startDependencies } from '../packages/lab/test/audit/dependencies.ts'
import { audit } from '../packages/lab/test/audit/run-audit.ts'

const IN_A_MIX = 5
const LEAST_SHARE = 0.95
const FRAMEWORKS = ['http', 'express', 'fastify'] as const

/** By name what is to be found; the last two are properties of the server and have no path. */
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

const mixes = Number(process.argv[2] ?? 24)
const random = seededRandom(Number(process.argv[3] ?? 1))

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

/** The cause, and a line of the function: from its name to the next. */
function isOf({ cause, where }: Finding, name: string): boolean {
  if (cause !== PLANTS[name]) return false
  const begin = lineOf(name)
  const line = Number(/planted-app\.mjs:(\d+)/.exec(where ?? '')?.[1] ?? 0)
  const end = begin + lines.slice(begin).findIndex(each => /^ {0,2}\S/.test(each) && !/^ {2}\}/.test(each))
  return begin === 0 ? where === null : line >= begin && line <= end
}

const dependencies = await startDependencies()
Object.assign(process.env, dependencies.env)
let sought = 0
let found = 0
let wrong = 0
try {
  for (let mix = 0; mix < mixes + 2; mix++) {
    const planted = mix < mixes ? drawn() : []
    // The clean ones are Express and Fastify.
    const framework = mix < mixes ? FRAMEWORKS[mix % FRAMEWORKS.length]! : FRAMEWORKS[1 + mix - mixes]!
    const { findings } = await findingsOf(planted, framework)
    const of = (name: string) => findings.filter(each => isOf(each, name))
    const missed = planted.filter(name => of(name).length === 0)
    const left = findings.filter(each => !planted.some(name => isOf(each, name)))
    sought += planted.length
    found += planted.length - missed.length
    wrong += left.length
    const extra = left.map(({ cause, where, what }) => `${cause} ${where ?? ''} (${what})`)
    console.log(
      `${framework.padEnd(8)}${planted.join(' ') || 'clean'}: ${planted.length - missed.length} of ${planted.length}` +
        `${missed.length === 0 ? '' : `, missed ${missed.join(' ')}`}${extra.length === 0 ? '' : `, not planted: ${extra.join('; ')}`}`,
    )
  }
} finally {
  await dependencies.stop()
}
const share = found / sought
console.log(`${found} of ${sought} planted causes found (${(100 * share).toFixed(1)} %), ${wrong} that are not planted`)
process.exitCode = share >= LEAST_SHARE && wrong === 0 ? 0 : 1
