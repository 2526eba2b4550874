/** Reads a result of a load run, of ours or of another tool, and knows which it is by its form. */
import { UserError } from '../user-error.ts'
import type { AttackDocument } from './attack-document.ts'
import { autocannonResult } from './foreign/autocannon.ts'
import { Broken, contradictionOf, type ForeignResult, type Members, membersOf } from './foreign/foreign-result.ts'
import { k6Lines, k6Summary } from './foreign/k6.ts'
import { vegetaLines, vegetaReport } from './foreign/vegeta.ts'
import { checkAttack, isAttack, parseJson } from './read-attack.ts'

export type ReadResult =
  | { readonly kind: 'attack'; readonly document: AttackDocument }
  /** Of `attack --steps`. */
  | { readonly kind: 'steps'; readonly documents: readonly AttackDocument[] }
  | { readonly kind: 'foreign'; readonly result: ForeignResult }

/** @throws UserError that says in a sentence why it can not be read; `name` is how the user named it */
export function readResult(content: string, name: string): ReadResult {
  // Windows puts a byte order mark before it.
  const text = content.startsWith('\uFEFF') ? content.slice(1) : content
  const lines = new Lines(text, name)
  const first = lines.first()
  if (first !== undefined) {
    const form = [k6Lines, vegetaLines].find(({ knows }) => knows(first))
    return foreign(
      () => form?.read(lines),
      name,
      () => `${name}, line ${lines.at},`,
    )
  }
  const value = parseJson(text, name)
  if (isAttack(value)) return { kind: 'attack', document: checkAttack(value, name) }
  const members = membersOf(value)
  const steps = members?.['steps']
  if (Array.isArray(steps) && steps.length > 0 && steps.every(isAttack)) {
    return { kind: 'steps', documents: steps.map((each, at) => checkAttack(each, `step ${at + 1} of ${name}`)) }
  }
  const read = (): ForeignResult | undefined =>
    members &&
    (k6Summary(members) ??
      vegetaReport(members) ??
      (vegetaLines.knows(members) ? vegetaLines.read([members]) : autocannonResult(members)))
  return foreign(read, name, () => name)
}

function foreign(read: () => ForeignResult | undefined, name: string, where: () => string): ReadResult {
  let result: ForeignResult | undefined
  try {
    result = read()
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    throw new UserError(`${where()} is damaged: ${error.message}; take the file as the tool wrote it`)
  }
  if (result === undefined) throw unknown(name)
  const contradiction = contradictionOf(result)
  if (contradiction !== undefined) {
    throw new UserError(`${name} is damaged: it has ${contradiction}; take the file as ${result.tool} wrote it`)
  }
  return { kind: 'foreign', result }
}

/** Of text that is an object a line. One at a time: such files are large. */
class Lines implements Iterable<Members> {
  /** Of the line that was read last; the first is 1. */
  at = 0
  readonly #text: string
  readonly #name: string

  constructor(text: string, name: string) {
    this.#text = text
    this.#name = name
  }

  /** Undefined for text that is a single document. */
  first(): Members | undefined {
    const [first = ''] = this.#text.split('\n', 1)
    const alone = this.#text.length - first.length < 3 || this.#text.slice(first.length).trim() === ''
    if (!first.startsWith('{') || !first.trimEnd().endsWith('}') || alone) return undefined
    return membersOf(parseJson(first, `${this.#name}, line 1,`))
  }

  *[Symbol.iterator](): Iterator<Members> {
    this.at = 0
    for (let from = 0; from < this.#text.length; ) {
      const end = this.#text.indexOf('\n', from)
      const line = this.#text.slice(from, end === -1 ? undefined : end)
      from = end === -1 ? this.#text.length : end + 1
      this.at++
      if (line.trim() === '') continue
      const members = membersOf(parseJson(line, `${this.#name}, line ${this.at},`))
      if (members === undefined) throw new Broken('it is no JSON object')
      yield members
    }
  }
}

const unknown = (name: string): UserError =>
  new UserError(
    `${name} is no result that meltlab knows; it reads those of attack --json, of k6 (summary, --out json), vegeta (report -type=json, encode --to json) and autocannon --json`,
  )
