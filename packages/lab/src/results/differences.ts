/** Where results differ that ought to be alike. Pure. */
import type { AttackDocument } from './attack-document.ts'

export interface NamedDocument {
  /** Under which the user knows it. */
  readonly name: string
  readonly document: AttackDocument
}

/** Something that a result says, by its name. */
export type Part = readonly [what: string, read: (document: AttackDocument) => unknown]

/** What was asked of the server, but for the URL. */
export const REQUEST_PARTS: readonly Part[] = [
  ['method', ({ plan }) => plan.method],
  ['headers', ({ plan }) => plan.headers],
  ['body', ({ plan }) => plan.body],
  ['further requests', ({ plan }) => plan.others],
  ['HTTP/2', ({ plan }) => plan.http2],
  ['filling in of fields', ({ plan }) => plan.templated],
]

/** As JSON. */
interface Said {
  readonly name: string
  readonly value: string
}

export interface Difference {
  readonly what: string
  readonly first: Said
  /** The first of the others that says something else. */
  readonly other: Said
}

/** One for each part in which not all of them are as the first. */
export function differences(parts: readonly Part[], documents: readonly NamedDocument[]): Difference[] {
  return parts.flatMap(([what, read]) => {
    const said = documents.map(({ name, document }) => ({ name, value: JSON.stringify(read(document)) }))
    const [first] = said
    const other = said.find(({ value }) => value !== first!.value)
    return first === undefined || other === undefined ? [] : [{ what, first, other }]
  })
}
