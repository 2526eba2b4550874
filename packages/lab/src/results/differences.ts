/** Where results differ that ought to be alike, and where they are alike that ought to differ. Pure. */
import { formatDuration } from '../durations.ts'
import { planMs } from '../load/schedule.ts'
import { offered } from '../report/attack-words.ts'
import { UserError } from '../user-error.ts'
import type { AttackDocument } from './attack-document.ts'

export interface NamedDocument {
  /** Under which the user knows it. */
  readonly name: string
  readonly document: AttackDocument
}

/** Something that a result says, by its name, and in words where JSON is none. */
export type Part = readonly [
  what: string,
  read: (document: AttackDocument) => unknown,
  words?: (document: AttackDocument) => string,
]

/** What was asked of the server, but for the URLs. */
export const REQUEST_PARTS: readonly Part[] = [
  ['method', ({ plan }) => plan.method],
  ['set of headers', ({ plan }) => plan.headers],
  ['body', ({ plan }) => plan.body],
  ['use of HTTP/2', ({ plan }) => plan.http2 ?? 'none'],
  ['journey', ({ plan }) => plan.journey ?? 'none'],
  ['filling in of fields', ({ plan }) => plan.templated],
  ['verifying of certificates', ({ plan }) => !plan.insecure],
]

/** `500/s for 10s` */
export const loadInWords = ({ plan }: AttackDocument): string => `${offered(plan)} for ${formatDuration(planMs(plan))}`

const LONGEST = 90

/** A sentence for each part in which not all of them are as the first. */
export function differences(parts: readonly Part[], documents: readonly NamedDocument[]): string[] {
  const [first, ...others] = documents
  if (first === undefined) return []
  return parts.flatMap(([what, read, words]) => {
    const json = ({ document }: NamedDocument): string => JSON.stringify(read(document))
    const other = others.find(each => json(each) !== json(first))
    if (other === undefined) return []
    const told = words !== undefined && words(first.document) !== words(other.document)
    const said = (of: NamedDocument): string => `${brief(told ? words(of.document) : json(of))} in ${of.name}`
    return `the ${what} is ${said(first)}, ${said(other)}`
  })
}

const brief = (text: string): string => {
  const plain = text.replace(/^\[?"([^"]*)"\]?$/, '$1')
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)}...` : plain
}

/** That each may be in one result only, or else: `consequence`. @throws UserError */
export function checkRuns(
  results: readonly { readonly name: string; readonly runs: readonly string[] }[],
  consequence: string,
): void {
  const seen = new Map<string, string>()
  for (const { name, runs } of results) {
    for (const run of runs) {
      const before = seen.get(run)
      if (before !== undefined) {
        const what =
          before === name ? `${name} is given twice, or holds a run twice` : `${before} and ${name} hold the same run`
        throw new UserError(`${what}, ${consequence}`)
      }
      seen.set(run, name)
    }
  }
}
