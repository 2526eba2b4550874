/** The tables of the documents match the code: names, defaults and sentences, each in one place. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import { parse } from 'yaml'
import { explainLimit, explainShed, whyShed } from '../../packages/meltproof/src/admission/explanation.ts'
import type { ShedReason } from '../../packages/meltproof/src/admission/sheds.ts'
import * as channels from '../../packages/meltproof/src/channels.ts'
import { bound as boundRedis } from '../../packages/meltproof/src/databases/ioredis.ts'
import { bound as boundPg } from '../../packages/meltproof/src/databases/pg.ts'
import { within } from '../../packages/meltproof/src/deadline/within.ts'
import { ERROR_CODES } from '../../packages/meltproof/src/errors.ts'
import { agent } from '../../packages/meltproof/src/haproxy/agent.ts'
import { protect } from '../../packages/meltproof/src/index.ts'
import { limiter } from '../../packages/meltproof/src/limiter/limiter.ts'
import { accessLog } from '../../packages/meltproof/src/logging/access-log.ts'
import { checkStdoutOptions } from '../../packages/meltproof/src/logging/stdout/options.ts'
import { instrument } from '../../packages/meltproof/src/observe/otel.ts'
import { metrics } from '../../packages/meltproof/src/observe/prometheus.ts'
import { install } from '../../packages/meltproof/src/outbound/install.ts'
import { DEFAULT_LIMITS, ZERO_CODE_LIMITS } from '../../packages/meltproof/src/outbound/limits.ts'
import { retry } from '../../packages/meltproof/src/outbound/retry.ts'
import { RetryBudget } from '../../packages/meltproof/src/outbound/retry-budget.ts'
import { PROBES, VARIABLES } from '../../packages/meltproof/src/register/options.ts'
import { ROOT } from './pages.ts'

const guard = protect(http.createServer())
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const source = (path: string): string => read(`packages/meltproof/src/${path}`)

/** The rows of the table whose first column has this heading. Each page has one such table. */
function rowsBelow(page: string, heading: string): string[][] {
  const lines = read(`docs/${page}`).split('\n')
  const heads = lines.flatMap((line, i) => (line.startsWith(`| ${heading} |`) ? [i] : []))
  assert.equal(heads.length, 1, `docs/${page} has ${heads.length} tables that begin with ${heading}`)
  const rows = lines.slice(heads[0]! + 2)
  const end = rows.findIndex(line => !line.startsWith('|'))
  return rows.slice(0, end === -1 ? undefined : end).map(line =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

const namesIn = (cells: readonly (string | undefined)[]): string[] =>
  cells.flatMap(cell => [...cell!.matchAll(/`([^`(]+)(?:\([^`]*\))?`/g)].map(([, name]) => name!))
const firstNames = (page: string, heading: string): string[] => namesIn(rowsBelow(page, heading).map(([cell]) => cell))

/** The options that a function knows, from its error for an unknown one. */
async function known(call: () => unknown): Promise<string[]> {
  try {
    await call()
  } catch (error) {
    const [, names] = /Known: (.*)\.$/.exec((error as Error).message) ?? assert.fail(String(error))
    return names!.split(', ')
  }
  return assert.fail('it took an unknown option')
}
const wrong = { unknownOption: 1 } as never

/** The defaults in the comments of the declared options. */
function defaultsIn(path: string): ReadonlyMap<string, string> {
  const declared = source(path).matchAll(/@default ([^\n]*?)(?: \*\/)?\n(?:\s*\*[^\n]*\n)*\s*readonly (\w+)\?/g)
  return new Map([...declared].map(([, value, name]) => [name!, value!]))
}

interface OptionTable {
  readonly page: string
  readonly heading: string
  readonly of: () => unknown
  /** The file that declares the options, with their defaults. */
  readonly declared: string
}

const OPTIONS: readonly OptionTable[] = [
  {
    page: 'protect.md',
    heading: 'option',
    of: () => protect(http.createServer(), wrong),
    declared: 'server/protect-options.ts',
  },
  { page: 'deadline.md', heading: 'option', of: () => within(1, () => 1, wrong), declared: 'deadline/within.ts' },
  { page: 'limiter.md', heading: 'of `limiter()`', of: () => limiter(wrong), declared: 'limiter/options.ts' },
  {
    page: 'limiter.md',
    heading: 'of `run()`',
    of: () => limiter().run(() => 1, wrong),
    declared: 'limiter/options.ts',
  },
  { page: 'outbound.md', heading: 'limit', of: () => install(wrong), declared: 'outbound/limits.ts' },
  {
    page: 'retries.md',
    heading: 'of `RetryBudget`',
    of: () => new RetryBudget(wrong),
    declared: 'outbound/retry-budget.ts',
  },
  {
    page: 'retries.md',
    heading: 'of `retry()`',
    of: () => retry(() => 1, new RetryBudget(), wrong),
    declared: 'outbound/retry.ts',
  },
  { page: 'stdout.md', heading: 'option', of: () => checkStdoutOptions(wrong), declared: 'logging/stdout/options.ts' },
  {
    page: 'access-log.md',
    heading: 'option',
    of: () => accessLog(guard, wrong),
    declared: 'logging/access-log/options.ts',
  },
  { page: 'deploy/haproxy.md', heading: 'option', of: () => agent(guard, wrong), declared: 'haproxy/agent.ts' },
  {
    page: 'observe.md',
    heading: 'option of `metrics()`',
    of: () => metrics(guard, wrong),
    declared: 'observe/options.ts',
  },
  {
    page: 'observe.md',
    heading: 'option of `instrument()`',
    of: () => instrument(guard, wrong),
    declared: 'observe/otel.ts',
  },
]

describe('options', () => {
  for (const { page, heading, of, declared } of OPTIONS) {
    test(`docs/${page}: ${heading} matches the code`, async () => {
      assert.deepEqual(firstNames(page, heading).sort(), (await known(of)).sort())
      const defaults = defaultsIn(declared)
      const plain = (text: string): string =>
        text.replace(/[`'_,]/g, '').replace(/^(\d+) MiB$/, (_, number) => String(Number(number) * 1_048_576))
      for (const [name, said] of rowsBelow(page, heading)) {
        const value = defaults.get(namesIn([name])[0] ?? '')
        if (value !== undefined && /^(?:[\d_.]+|true|false|\[\d.*\]|'\w+')$/.test(value) && /^`?'?[\w[]/.test(said!)) {
          assert.equal(plain(said!), plain(value), `the default of ${name}`)
        }
      }
    })
  }

  test('docs/outbound.md has the defaults of limits, with and without register', () => {
    const inMs = (text: string): number | false => {
      const [, number, unit] = /^`?([\d]+) ?(s|min)?`?$/.exec(text) ?? []
      return number === undefined ? false : Number(number) * (unit === 's' ? 1000 : unit === 'min' ? 60_000 : 1)
    }
    const rows = rowsBelow('outbound.md', 'limit').filter(([name]) => namesIn([name])[0]! in DEFAULT_LIMITS)
    const column = (i: number) => Object.fromEntries(rows.map(cells => [namesIn([cells[0]])[0], inMs(cells[i]!)]))
    assert.deepEqual(column(1), DEFAULT_LIMITS)
    assert.deepEqual(column(2), ZERO_CODE_LIMITS)
  })

  test('docs/databases.md has the limits of each client', async () => {
    const limits = read('docs/databases.md')
      .match(/^\| limits \|.*$/m)![0]
      .split('|')
      .slice(2, -1)
    const client = Object.assign(Object.create(boundRedisShape), {})
    assert.deepEqual(namesIn([limits[0]]).sort(), (await known(() => boundPg(new pg.Pool(), wrong))).sort())
    assert.deepEqual(namesIn([limits[2]]).sort(), (await known(() => boundRedis(client, wrong))).sort())
  })
})

/** The parts of ioredis that bound() checks. */
const boundRedisShape = { sendCommand: () => undefined, status: 'wait', options: {}, on: () => undefined }

test('docs/register.md has all variables and probes', () => {
  assert.deepEqual(firstNames('register.md', 'variable').sort(), [...VARIABLES].sort())
  const page = read('docs/register.md')
  for (const probe of PROBES) assert.ok(page.includes(`\`${probe}\``), `${probe} is missing`)
})

test('docs/register.md has the pages of the admin port', () => {
  const paths = (pattern: RegExp) => [...source('admin/admin.ts').matchAll(pattern)].map(([, path]) => path)
  // `/live`, the page that asks no other worker, is first, as in the list that the admin port sends.
  const pages = [...paths(/path === '(\/\w+)'/g), ...paths(/^ {2,4}'(\/\w+)':/gm)]
  assert.ok(pages.length > 3)
  assert.deepEqual(firstNames('register.md', 'page'), pages)
})

test('docs/guard.md has the methods and figures of the guard', () => {
  assert.deepEqual(firstNames('guard.md', 'method').sort(), Object.keys(guard).sort())
  assert.deepEqual(firstNames('guard.md', 'figure of `stats()`').sort(), Object.keys(guard.stats()).sort())
})

test('docs/explain.md has the reasons and their texts', () => {
  const rows = rowsBelow('explain.md', 'reason')
  assert.deepEqual(namesIn(rows.map(([name]) => name)).sort(), Object.keys(guard.stats().shed).sort())
  const figures = { atMs: 0, inflight: 26, limit: 26, queued: 40 }
  for (const [name, says] of rows) {
    const reason = namesIn([name])[0] as ShedReason
    assert.equal(says, whyShed({ ...figures, reason } as never).replace(/ \(.*/, ''))
  }
  const shed = explainShed({ ...figures, reason: 'standing' } as never, 1200, 'request that was shed')
  const example = `${shed} ${explainLimit(figures.limit, 'contention')}`
  assert.ok(read('docs/explain.md').includes(`\n${example}\n`), example)
})

test('docs/errors.md has every code', () => {
  assert.deepEqual(firstNames('errors.md', 'code').sort(), Object.keys(ERROR_CODES).sort())
})

test('docs/records.md has every channel', () => {
  const names = Object.values(channels).flatMap(each => (typeof each === 'function' ? [] : [each.name]))
  // This channel is only for our own figures, and its records are overwritten.
  const open = names.filter(name => name !== channels.passingRequests.name)
  assert.ok(open.length >= 5)
  assert.deepEqual(firstNames('records.md', 'channel').sort(), open.sort())
})

test('docs/records.md has the fields of each record', () => {
  const fields = (name: string): string[] => {
    const [, body] = new RegExp(`export interface ${name}(?: extends \\w+)? \\{\\n([\\s\\S]*?)\\n\\}`).exec(
      source('record.ts'),
    )!
    return [...body!.matchAll(/^ {2}readonly (\w+)/gm)].map(([, field]) => field!).sort()
  }
  const [, requests, calls, others] = read('docs/records.md').split(/^### /m)
  const firsts = (section: string): string[] =>
    namesIn(section.split('\n').flatMap(line => (line.startsWith('| `') ? [line.split('|')[1]] : []))).sort()
  assert.deepEqual(firsts(requests!), fields('RequestRecord'))
  assert.deepEqual(firsts(calls!), fields('OutboundRecord'))
  for (const [name, at] of [
    ['ShedRecord', 0],
    ['StallRecord', 1],
    ['LogLossRecord', 2],
  ] as const) {
    const shown = [...others!.matchAll(/`\{ (.*?) \}`/g)][at]![1]!.split(', ').map(field => field.split(':')[0]!)
    assert.deepEqual(shown.sort(), fields(name))
  }
  const [, ofCulprits] = /\| a `CulpritRecord` for each stall: (.*) \|$/m.exec(read('docs/culprit.md'))!
  assert.deepEqual(namesIn([ofCulprits]).sort(), [...fields('CulpritRecord'), ...fields('StallRecord')].sort())
})

test('figures quoted beside a link to the scoreboard are on the linked page', () => {
  const quoted = ['under-pressure', 'overload-protection'].flatMap(rival =>
    read(`docs/from-${rival}.md`)
      .split(/\n\n|\n(?=- )/)
      .flatMap(text => [...text.matchAll(/(?<![\d.])\d[\d.]* (?:%|ms\b)/g)].map(([figure]) => ({ figure, text }))),
  )
  const linked = quoted.filter(({ text }) => text.includes('scoreboard/'))
  assert.ok(linked.length >= 10, `${linked.length} figures`)
  for (const { figure, text } of linked) {
    const [page] = /scoreboard\/[\w-]+\.md/.exec(text)!
    assert.ok(read(`docs/${page}`).includes(` ${figure}`), `${figure} is not in ${page}: ${text}`)
  }
})

test('docs/alerts.md has the alerts and their severities', () => {
  const { groups } = parse(read('deploy/prometheus/meltproof.rules.yml')) as {
    groups: { rules: { alert?: string; labels?: { severity: string } }[] }[]
  }
  const alerts = groups.flatMap(({ rules }) => rules.filter(({ alert }) => alert !== undefined))
  const shown = rowsBelow('alerts.md', 'alert').map(([name, severity]) => [namesIn([name])[0], severity])
  assert.deepEqual(shown.sort(), alerts.map(({ alert, labels }) => [alert, labels!.severity]).sort())
})

test('docs/observe.md has every framework adapter', () => {
  const { exports } = JSON.parse(read('packages/meltproof/package.json')) as {
    exports: Record<string, { default: string }>
  }
  const adapters = Object.entries(exports).flatMap(([name, { default: file }]) =>
    file?.includes('/adapters/') ? [`meltproof${name.slice(1)}`] : [],
  )
  const shown = [...read('docs/observe.md').matchAll(/from '(meltproof\/(?!prometheus|otel)\w+)'/g)].map(
    ([, name]) => name,
  )
  assert.deepEqual(shown.sort(), adapters.sort())
})
