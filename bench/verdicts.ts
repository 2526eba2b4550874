/**
 * How often are the verdicts in the access log right? Injects faults with a known truth into a service that has only
 * that log enabled, and compares each line with the truth. Each case runs twice: in the form used for tuning, and held
 * out, with other durations, clients and mixes.
 *
 *   node bench/verdicts.ts [--times 100] [--only PART_OF_A_NAME] [--set tuned | held-out] [--seed 1] [--wrong]
 *
 * `--wrong` prints the wrong lines. Bars: 98 of 100 in each case (issue 14), 99 of 100 in all. The machine need not be
 * quiet, because the injected stalls sleep. The cases run in parallel.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { seededRandom } from '../packages/lab/src/load/random.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { startPostgres } from './lib/postgres.ts'
import { slowResolver } from './lib/slow-resolver.ts'
import { type Case, CASES, type Operation } from './lib/verdict-cases.ts'

/** Delay from the caller to the port `way` of the dependency, ms. */
const WAY_MS = 250
/** An operation that the busy machine disturbed is injected again, at most this number of times. */
const MOST_TIMES = 20
/** Requests in `beside` are sent this long before the operation, ms. */
const HEAD_START_MS = 15

const options = scriptOptions(import.meta.filename, {
  times: { type: 'string', default: '100' },
  only: { type: 'string', default: '' },
  set: { type: 'string' },
  seed: { type: 'string', default: '1' },
  wrong: { type: 'boolean', default: false },
})
const count = options.whole('times')
const seed = options.whole('seed')
const sets = options.chosen('set', ['tuned', 'held-out'])
const resolver = await slowResolver()
const chosen = CASES.filter(each => each.name.includes(options.values.only) && (!each.resolver || resolver))
if (resolver === undefined) console.log('cases with a slow resolver need Linux and root: left out')

interface Line {
  readonly url: string
  readonly verdict: string
  readonly ms: number
}

let repeated = 0

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

async function start<Ready>(
  script: string,
  args: string[],
  launch: (file: string, args: readonly string[]) => ChildProcess = fork,
): Promise<{ child: ChildProcess; ready: Ready }> {
  const child = launch(join(import.meta.dirname, 'lib', script), args)
  const [ready] = (await once(child, 'message')) as [Ready]
  return { child, ready }
}

const dependency = await start<{ port: number; way: number }>('verdict-dependency.ts', [String(WAY_MS)])
const postgres = chosen.some(({ acquireMs }) => acquireMs !== undefined) ? await startPostgres() : undefined

/** Runs the operations of one case one after the other. Returns those with a wrong verdict. */
async function wrongOf({ name, acquireMs, resolver: resolves, operations }: Case, held: boolean): Promise<string[]> {
  const database = acquireMs === undefined ? [] : [postgres!.url, String(acquireMs)]
  const { child, ready } = await start<{ port: number }>(
    'verdict-service.ts',
    database,
    resolves ? resolver!.start : fork,
  )
  const lines = new Map<string, Line>()
  const late = new Map<string, number>()
  child.on('message', ({ line, id, lateMs }: { line?: Line; id?: string; lateMs?: number }) => {
    if (line !== undefined) lines.set(new URL(line.url, 'http://us').searchParams.get('id')!, line)
    else late.set(id!, lateMs!)
  })
  let ids = 0
  const send = (query: Operation['query'], leavesAfterMs?: number): { id: string; over: Promise<unknown> } => {
    const id = String(ids++)
    const port = query['port'] === 'way' ? dependency.ready.way : dependency.ready.port
    const search = new URLSearchParams({ ...query, port, id } as unknown as Record<string, string>)
    const request = http.get(`http://127.0.0.1:${ready.port}/op?${search}`, answer => answer.resume())
    request.on('error', () => {})
    if (leavesAfterMs !== undefined) setTimeout(() => request.destroy(), leavesAfterMs)
    return { id, over: new Promise(resolve => request.on('close', resolve)) }
  }
  const lineOf = async (id: string): Promise<Line> => {
    for (let i = 0; i < 2000 && !(lines.has(id) && late.has(id)); i++) await sleep(5)
    return lines.get(id) ?? { url: id, verdict: 'no line', ms: Number.NaN }
  }
  const wrong: string[] = []
  /** A name that was looked up already has a connection, so a repetition needs a new name. */
  const anew = (query: Operation['query']): Operation['query'] =>
    'name' in query ? { ...query, name: String(query['name']).replace(/-\w+/, `-r${ids++}`) } : query
  const inject = async (operation: Operation, left = MOST_TIMES): Promise<Line> => {
    const { query, truth, beside = [], leavesAfterMs } = operation
    const others = beside.map(other => send(other))
    if (others.length > 0) await sleep(HEAD_START_MS)
    const { id, over } = send(query, leavesAfterMs)
    await over
    const line = await lineOf(id)
    await Promise.all(others.map(other => other.over))
    // On a busy machine the call may end before its stall begins, so that nothing was injected. The machine itself may
    // also stall the loop for more than a fifth of the request, so that `truth` does not hold.
    const isOther =
      truth === 'loop' ? line.ms < Number(query['block']) : !('block' in query) && late.get(id)! > line.ms / 5
    if (!isOther || left === 0) return line
    repeated++
    return inject({ ...operation, query: anew(query), beside: beside.map(anew) }, left - 1)
  }
  for (const operation of operations(count, held, seededRandom(seed))) {
    const line = await inject(operation)
    const { truth } = operation
    if (truth !== undefined && line.verdict !== truth) wrong.push(`${name}, ${truth}: ${JSON.stringify(line)}`)
  }
  child.disconnect()
  return wrong
}

const results = await Promise.all(
  chosen.flatMap(each =>
    sets.map(async set => ({ name: each.name, set, wrong: await wrongOf(each, set === 'held-out') })),
  ),
)
for (const { name } of chosen) {
  const rights = sets.map(
    set => `${set} ${count - results.find(each => each.name === name && each.set === set)!.wrong.length}`,
  )
  console.log(`${name.padEnd(44)} right of ${count}: ${rights.join(', ')}`)
}
if (repeated > 0) console.log(`${repeated} injected again, because the machine was busy`)
if (options.values.wrong) for (const { wrong } of results) for (const line of wrong) console.log(line)
dependency.child.disconnect()
await postgres?.stop()
resolver?.stop()
