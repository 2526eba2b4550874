/** Whether results can be compared at all: the same load, made by the same machine, and figures that are the server's. Pure. */
import { formatChosen } from '../report/format.ts'
import { type AttackDocument, HIDDEN } from '../results/attack-document.ts'
import { differences, loadInWords, type Part, REQUEST_PARTS } from '../results/differences.ts'
import { type ReadRun, readRun } from './figures.ts'

/** One run. */
export interface Result {
  /** Under which the user knows it. */
  readonly name: string
  readonly figures: ReadRun
  readonly document: AttackDocument
}

export function resultOf(name: string, document: AttackDocument): Result {
  return { name, figures: readRun(document), document }
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

/** Why not, a reason for each part that differs from the first result; none when all are alike. */
export function whyNotComparable(results: readonly Result[]): string[] {
  return differences(PARTS, results)
}

/** What is not known, and is for the reader to judge. */
export function remarksOn(results: readonly Result[]): string[] {
  const headers = results.flatMap(({ document }) => Object.entries(document.plan.headers))
  const hidden = [...new Set(headers.flatMap(([name, value]) => (value === HIDDEN ? [name] : [])))]
  if (hidden.length === 0) return []
  return [`Whether ${hidden.join(', ')} was the same is not known: results hide credentials.`]
}
