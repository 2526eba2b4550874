/** Whether results can be compared at all: the same load, made by the same machine, and figures that are the server's. Pure. */
import { formatChosen } from '../report/format.ts'
import { type AttackDocument, HIDDEN } from '../results/attack-document.ts'
import type { ForeignResult } from '../results/foreign/foreign-result.ts'
import { differences, loadInWords, type Part, REQUEST_PARTS } from '../results/differences.ts'
import { type ReadRun, readRun } from './figures.ts'

/** One run. */
export interface Result {
  /** Under which the user knows it. */
  readonly name: string
  /** That measured it. */
  readonly tool: string
  /** Whose latencies they are. */
  readonly latencyOf: string
  /** ISO 8601; null where it is not said. */
  readonly startedAt: string | null
  readonly figures: ReadRun
  /** Ids of the runs in it. */
  readonly runs: readonly string[]
  /** Of our own results. */
  readonly document?: AttackDocument
  /** Of another tool's. */
  readonly foreign?: ForeignResult
}

export function resultOf(name: string, document: AttackDocument): Result {
  return {
    name,
    tool: 'meltlab',
    latencyOf: 'answers 2xx and 3xx',
    startedAt: document.startedAt,
    runs: document.runs,
    figures: readRun(document),
    document,
  }
}

/** `run`: what tells it from others. An SLO is nothing another tool knows, so there is no goodput. */
export function foreignResultOf(name: string, foreign: ForeignResult, run: string): Result {
  const { tool, latencyOf, startedAt, latencyMs, requests, ok } = foreign
  const due = requests === null ? null : requests + (foreign.unsent ?? 0)
  const errors = due === null || due === 0 || ok === null ? null : Math.max(0, due - ok) / due
  const { p50, p90, p99 } = latencyMs
  const figures = { goodput: null, p50, p90, p99, errors }
  return { name, tool, latencyOf, startedAt, runs: [run], figures: { measured: figures, clean: figures }, foreign }
}

/** What of a run has to be the same. Host and port may differ: they are what tells A from B. */
const PARTS: readonly Part[] = [
  ['version of meltlab', ({ labVersion }) => labVersion],
  ['path', ({ url }) => pathOf(url)],
  ...REQUEST_PARTS,
  ['list of further requests', ({ plan }) => plan.others.map(each => ({ ...each, url: pathOf(each.url) }))],
  ['load', ({ plan }) => plan.arrival, loadInWords],
  ['set of connections', ({ plan }) => plan.connections, connectionsInWords],
  ['timeout', ({ plan }) => plan.timeoutMs, ({ plan }) => formatChosen(plan.timeoutMs)],
  ['connect timeout', ({ plan }) => plan.connectTimeoutMs, ({ plan }) => formatChosen(plan.connectTimeoutMs)],
  ['SLO', ({ plan }) => plan.sloMs, ({ plan }) => formatChosen(plan.sloMs)],
  ['number of threads', ({ plan }) => plan.threads],
  ['processor', ({ machines }) => machines.map(({ cpu }) => cpu)],
  ['number of cores', ({ machines }) => machines.map(({ cores }) => cores)],
  // A kernel keeps a little for itself, now more, now less.
  ['memory', ({ machines }) => machines.map(({ memoryBytes }) => `${Math.round(memoryBytes / 1e9)} GB`)],
  ['system', ({ machines }) => machines.map(({ platform }) => platform)],
  ['version of Node', ({ machines }) => machines.map(({ node }) => node)],
]

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

function connectionsInWords({ plan: { connections } }: AttackDocument): string {
  if (connections.kind === 'fresh') return 'a new one for every request'
  return `${connections.count} standing, ${connections.max} at most`
}

/** Why not, a reason for each part that differs from the first result; none when all are alike, as far as they say. */
export function whyNotComparable(results: readonly Result[]): string[] {
  const tools = [...new Set(results.map(({ tool }) => tool))]
  if (tools.length > 1) return [`they were measured by ${tools.join(' and ')}, which measure differently`]
  const populations = [...new Set(results.map(({ latencyOf }) => latencyOf))]
  if (populations.length > 1) return [`latencies of ${populations.join(' are not those of ')}`]
  const ours = results.flatMap(({ name, document }) => (document === undefined ? [] : { name, document }))
  return [...differences(PARTS, ours), ...foreignDifferences(results)]
}

/** Other tools tell the load as it was measured, and never twice the same to the last digit. */
const ABOUT_THE_SAME = 0.05

function foreignDifferences(results: readonly Result[]): string[] {
  const loads = results.flatMap(({ name, foreign }) =>
    foreign === undefined
      ? []
      : { name, said: { path: pathIn(foreign), 'duration in ms': foreign.durationMs, ...foreign.load } },
  )
  return Object.keys(loads[0]?.said ?? {}).flatMap(what => {
    const known = loads.flatMap(({ name, said }) => {
      const value = (said as Readonly<Record<string, string | number | null>>)[what] ?? null
      return value === null ? [] : [{ name, value }]
    })
    const other = known.find(({ value }) => !alike(value, known[0]!.value))
    return other === undefined
      ? []
      : `the ${what} is ${known[0]!.value} in ${known[0]!.name}, ${other.value} in ${other.name}`
  })
}

function alike(one: string | number, other: string | number): boolean {
  if (typeof one === 'string' || typeof other === 'string') return one === other
  return Math.abs(one - other) <= ABOUT_THE_SAME * Math.max(one, other)
}

function pathIn({ url }: ForeignResult): string | null {
  return url !== null && URL.canParse(url) ? pathOf(url) : null
}

/** What is not known, and is for the reader to judge. */
export function remarksOn(results: readonly Result[]): string[] {
  const tool = results.find(({ document }) => document === undefined)?.tool
  if (tool !== undefined) {
    const told = results.flatMap(({ foreign }) => foreign?.remarks[0] ?? [])
    return [
      `Results of ${tool} do not say on which machine they were measured, nor whether ${tool} itself was late.`,
      ...new Set(told),
    ]
  }
  const headers = results.flatMap(({ document }) => Object.entries(document!.plan.headers))
  const hidden = [...new Set(headers.flatMap(([name, value]) => (value === HIDDEN ? [name] : [])))]
  if (hidden.length === 0) return []
  return [`Whether ${hidden.join(', ')} was the same is not known: results hide credentials.`]
}
