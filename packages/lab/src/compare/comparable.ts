/** Whether results can be compared at all: the same load, made by the same machine, and figures that are the server's. Pure. */
import { formatChosen } from '../report/format.ts'
import { type AttackDocument, HIDDEN } from '../results/attack-document.ts'
import { differences, type Part, REQUEST_PARTS } from '../results/differences.ts'
import { type RunFigures, runFigures } from './figures.ts'

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
  readonly figures: RunFigures
  /** Of our own results. */
  readonly document?: AttackDocument
}

export function resultOf(name: string, document: AttackDocument): Result {
  return {
    name,
    tool: 'meltlab',
    latencyOf: 'answers 2xx and 3xx',
    startedAt: document.startedAt,
    figures: runFigures(document),
    document,
  }
}

/** What of a run has to be the same. */
const PARTS: readonly Part[] = [
  ['version of meltlab', ({ labVersion }) => labVersion],
  ['path', ({ url }) => new URL(url).pathname + new URL(url).search],
  ...REQUEST_PARTS,
  ['load', ({ plan }) => plan.arrival],
  ['connections', ({ plan }) => plan.connections],
  ['timeout', ({ plan }) => formatChosen(plan.timeoutMs)],
  ['connect timeout', ({ plan }) => formatChosen(plan.connectTimeoutMs)],
  ['SLO', ({ plan }) => formatChosen(plan.sloMs)],
  ['threads', ({ plan }) => plan.threads],
  ['processor', ({ machines }) => machines.map(({ cpu }) => cpu)],
  ['cores', ({ machines }) => machines.map(({ cores }) => cores)],
  // A kernel keeps a little for itself, now more, now less.
  ['memory', ({ machines }) => machines.map(({ memoryBytes }) => `${Math.round(memoryBytes / 1e9)} GB`)],
  ['system', ({ machines }) => machines.map(({ platform }) => platform)],
  ['Node', ({ machines }) => machines.map(({ node }) => node)],
]

/** Why not, a reason for each part that differs from the first result; none when all are alike, as far as they say. */
export function whyNotComparable(results: readonly Result[]): string[] {
  const tools = [...new Set(results.map(({ tool }) => tool))]
  if (tools.length > 1) return [`they were measured by ${tools.join(' and ')}, which measure differently`]
  const populations = [...new Set(results.map(({ latencyOf }) => latencyOf))]
  if (populations.length > 1) return [`latencies of ${populations.join(' are not those of ')}`]
  const ours = results.flatMap(({ name, document }) => (document === undefined ? [] : { name, document }))
  return differences(PARTS, ours).map(
    ({ what, first, other }) =>
      `the ${what} differs: ${brief(first.value)} in ${first.name}, ${brief(other.value)} in ${other.name}`,
  )
}

/** What is not known, and is for the reader to judge. */
export function remarksOn(results: readonly Result[]): string[] {
  const tool = results.find(({ document }) => document === undefined)?.tool
  if (tool !== undefined) {
    return [`Results of ${tool} do not say on which machine they were measured, nor whether ${tool} itself was late.`]
  }
  const headers = results.flatMap(({ document }) => Object.entries(document!.plan.headers))
  const hidden = [...new Set(headers.flatMap(([name, value]) => (value === HIDDEN ? [name] : [])))]
  if (hidden.length === 0) return []
  return [`Whether ${hidden.join(', ')} was the same is not known: results hide credentials.`]
}

const brief = (text: string): string => {
  const plain = text.replace(/^\[?"([^"]*)"\]?$/, '$1')
  return plain.length > 90 ? `${plain.slice(0, 90)}...` : plain
}
