/** Decides whether results are comparable: same load, same machine, and certified figures. Pure. */
import { loadInWords } from '../report/attack-words.ts'
import { formatChosen } from '../report/format.ts'
import { type AttackDocument, HIDDEN } from '../results/attack-document.ts'
import { shortened } from '../words.ts'
import { type ReadRun, readRun } from './figures.ts'

export interface Result {
  readonly name: string
  readonly figures: ReadRun
  readonly document: AttackDocument
}

export function resultOf(name: string, document: AttackDocument): Result {
  return { name, figures: readRun(document), document }
}

/** The name of a property, its value, and a function that words the value if its JSON is hard to read. */
type Part = readonly [
  what: string,
  read: (document: AttackDocument) => unknown,
  words?: (document: AttackDocument) => string,
]

/** Properties that must be equal in all runs. Host and port may differ, because they distinguish A from B. */
const PARTS: readonly Part[] = [
  ['version of meltlab', ({ labVersion }) => labVersion],
  ['path', ({ url }) => pathOf(url)],
  ['method', ({ plan }) => plan.method],
  ['set of headers', ({ plan }) => plan.headers],
  ['body', ({ plan }) => plan.body],
  ['use of HTTP/2', ({ plan }) => plan.http2 ?? 'none'],
  ['journey', ({ plan }) => plan.journey ?? 'none'],
  ['replacement of template fields', ({ plan }) => plan.templated],
  ['verifying of certificates', ({ plan }) => !plan.insecure],
  ['list of further requests', ({ plan }) => plan.others.map(each => ({ ...each, url: pathOf(each.url) }))],
  ['load', ({ plan }) => plan.arrival, ({ plan }) => loadInWords(plan)],
  ['set of connections', ({ plan }) => plan.connections, connectionsInWords],
  ['timeout', ({ plan }) => plan.timeoutMs, ({ plan }) => formatChosen(plan.timeoutMs)],
  ['connect timeout', ({ plan }) => plan.connectTimeoutMs, ({ plan }) => formatChosen(plan.connectTimeoutMs)],
  ['SLO', ({ plan }) => plan.sloMs, ({ plan }) => formatChosen(plan.sloMs)],
  ['number of threads', ({ plan }) => plan.threads],
  ['processor', ({ machines }) => machines.map(({ cpu }) => cpu)],
  ['number of cores', ({ machines }) => machines.map(({ cores }) => cores)],
  // The kernel reserves a varying small amount.
  ['memory', ({ machines }) => machines.map(({ memoryBytes }) => `${Math.round(memoryBytes / 1e9)} GB`)],
  ['system', ({ machines }) => machines.map(({ platform }) => platform)],
  ['version of Node', ({ machines }) => machines.map(({ node }) => node)],
]

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

function connectionsInWords({ plan: { connections } }: AttackDocument): string {
  if (connections.kind === 'fresh') return 'a new one per request'
  return `${connections.count} standing, ${connections.max} at most`
}

const LONGEST = 90

/** A reason for each property that differs from the first result; empty when all are alike. */
export function whyNotComparable(results: readonly Result[]): string[] {
  const [first, ...others] = results
  if (first === undefined) return []
  return PARTS.flatMap(([what, read, words]) => {
    const json = ({ document }: Result): string => JSON.stringify(read(document))
    const other = others.find(each => json(each) !== json(first))
    if (other === undefined) return []
    const told = words !== undefined && words(first.document) !== words(other.document)
    const said = (of: Result): string => `${brief(told ? words(of.document) : json(of))} in ${of.name}`
    return `the ${what} is ${said(first)}, ${said(other)}`
  })
}

const brief = (text: string): string => shortened(text.replace(/^\[?"([^"]*)"\]?$/, '$1'), LONGEST)

/** Names headers with hidden values: only the user can say whether the values were equal. */
export function remarksOn(results: readonly Result[]): string[] {
  const headers = results.flatMap(({ document }) => Object.entries(document.plan.headers))
  const hidden = [...new Set(headers.flatMap(([name, value]) => (value === HIDDEN ? [name] : [])))]
  if (hidden.length === 0) return []
  return [`Whether ${hidden.join(', ')} was the same is unknown, because results hide credentials.`]
}
