/**
 * Measures how many handlers work at the same time, and what clients get, when clients disconnect early or forge
 * deadlines and a dependency hangs: bare, with a limit of 16, and with the learned limit.
 *
 *   node bench/handlers-at-work.ts [--case hang,deadline,some,silent,cheap,ways] [--meltproof FILE]
 *
 * Bar: with a limit of 16, at most 32 handlers at work in all cases. `--meltproof` names
 * packages/meltproof/src/index.ts of another checkout, to compare with. About five minutes. `ways` measures, one after
 * the other, every way in which a client can end a response while its handler works, with 48 clients each
 * (packages/meltproof/test/server/ways-out.ts). Outages and forged deadlines at a pool are workloads of the scoreboard
 * (bench/overload.ts), and tests in packages/meltproof/test/server cover slow uploads.
 */
import { join, resolve } from 'node:path'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { startServer } from './lib/measured-server.ts'
import { leaveBy, waysOut } from './lib/ways-out.ts'
import type { WorkFigures } from './lib/work-server.ts'
import type { protect as Protect } from '../packages/meltproof/src/index.ts'

interface Load {
  readonly rate: number
  readonly seconds: number
  readonly path?: string
  /** Clients disconnect after this time, ms. */
  readonly patienceMs: number
  readonly headers?: Readonly<Record<string, string>>
}

interface Case {
  readonly what: string
  readonly server: string
  readonly hangs?: true
  /** Further options of protect(). A case with such options has no bare arm. */
  readonly options?: object
  /** The table shows the answers to the first load. */
  readonly loads: readonly Load[]
}

const quick = { rate: 400, seconds: 12, patienceMs: 20_000 }
const some = { server: 'some-hang' }
const CASES: Readonly<Record<string, readonly Case[]>> = {
  hang: [
    {
      what: 'clients leave after 500 ms, the dependency hangs',
      ...{ server: 'unbounded', hangs: true, loads: [{ rate: 167, seconds: 8, patienceMs: 500 }] },
    },
  ],
  deadline: [
    {
      what: 'a deadline of 300 ms, the dependency hangs',
      ...{ server: 'unbounded', hangs: true, options: { deadlineMs: 300 } },
      loads: [{ rate: 167, seconds: 8, patienceMs: 3000 }],
    },
  ],
  some: [
    { what: 'one in 57 hangs for 6 s, clients stay', ...some, loads: [quick] },
    { what: 'one in 57 hangs for 6 s, clients leave after 500 ms', ...some, loads: [{ ...quick, patienceMs: 500 }] },
    { what: 'one in 57 hangs for 6 s, a deadline of 500 ms', ...some, options: { deadlineMs: 500 }, loads: [quick] },
    {
      what: 'one in 57 hangs for 6 s, callers ask for 1 ms',
      ...{ ...some, options: { deadlineMs: 500 } },
      loads: [{ ...quick, headers: { 'x-envoy-expected-rq-timeout-ms': '1' } }],
    },
  ],
  silent: [
    {
      what: 'a tenth of the clients leaves at once, handlers end silently',
      server: 'silent',
      loads: [
        { rate: 300, seconds: 12, patienceMs: 3000 },
        { rate: 30, seconds: 12, patienceMs: 10 },
      ],
    },
  ],
  cheap: [
    {
      what: 'cheap requests beside heavy ones of 2 s, whose clients leave',
      server: 'cheap-and-heavy',
      loads: [
        { rate: 200, seconds: 8, patienceMs: 1000, path: 'cheap' },
        { rate: 40, seconds: 8, patienceMs: 300, path: 'heavy' },
      ],
    },
  ],
}

const options = scriptOptions(import.meta.filename, {
  case: { type: 'string' },
  meltproof: { type: 'string', default: join(import.meta.dirname, '../packages/meltproof/src/index.ts') },
})
const LIMITS = { bare: undefined, 16: { limit: 16 }, learned: {} }

const rows: string[][] = []
const chosen = options.chosen('case', [...Object.keys(CASES), 'ways'])
const print = (row: string[]): void => {
  rows.push(row)
  console.log(row.join(', '))
}
for (const each of chosen.flatMap(name => CASES[name] ?? [])) {
  for (const [limit, protection] of Object.entries(LIMITS)) {
    if (protection === undefined && each.options !== undefined) continue
    const row = [each.what, limit, ...(await measure(each, protection))]
    print(row)
  }
}
if (chosen.includes('ways')) {
  const { protect } = (await import(resolve(options.values.meltproof))) as { protect: typeof Protect }
  for (const { protocol, way } of waysOut()) {
    for (const limit of ['bare', '16']) {
      const { most, inflight } = await leaveBy(protocol, way, limit === 'bare' ? undefined : protect)
      const times = limit === 'bare' ? '-' : (most / 16).toFixed(1)
      print([`${protocol}: ${way.name}`, limit, String(most), times, String(inflight), '-'])
    }
  }
}
const columns = ['case', 'limit', 'most handlers at work', 'times the limit', 'in service at the end', 'answered 2xx']
console.log(`\n${markdownTable(columns, rows)}`)
process.exit()

async function measure({ server: kind, hangs, options: more, loads }: Case, protection: object | undefined) {
  const how = protection === undefined ? 'bare' : JSON.stringify({ lanes: 1, ...protection, ...more })
  const script = join(import.meta.dirname, 'lib/work-server.ts')
  const server = await startServer(script, [kind, how, resolve(options.values.meltproof)], ['--no-warnings'])
  if (hangs) await server.ask('hang')
  const [first] = await Promise.all(
    loads.map(({ rate, seconds, path = '', patienceMs, headers = {} }) =>
      runLoad(
        planOf({
          ...{ url: server.url + path, rate, headers, fresh: true, durationMs: seconds * 1000 },
          ...{ timeoutMs: patienceMs, sloMs: patienceMs },
        }),
      ),
    ),
  )
  const { most, mostPerLimit, inflight } = await server.ask<WorkFigures>()
  await server.stop()
  const share = `${((100 * first!.good) / first!.scheduled).toFixed(0)} %`
  return [String(most), protection === undefined ? '-' : mostPerLimit.toFixed(1), String(inflight), share]
}
