/** Reads a result of a load run, of ours or of another tool, and knows which it is by its form. */
import { UserError } from '../user-error.ts'
import type { AttackDocument } from './attack-document.ts'
import { autocannonResult } from './foreign/autocannon.ts'
import { type ForeignResult, type Members, membersOf } from './foreign/foreign-result.ts'
import { k6Points, k6Summary } from './foreign/k6.ts'
import { vegetaReport, vegetaResults } from './foreign/vegeta.ts'
import { checkAttack, isAttack, parseJson } from './read-attack.ts'

export type ReadResult =
  | { readonly kind: 'attack'; readonly document: AttackDocument }
  | { readonly kind: 'foreign'; readonly result: ForeignResult }

/** @throws UserError that says in a sentence why it can not be read; `name` is how the user named it */
export function readResult(text: string, name: string): ReadResult {
  const lines = linesOf(text, name)
  if (lines !== undefined) {
    const result = k6Points(lines) ?? vegetaResults(lines)
    if (result !== undefined) return { kind: 'foreign', result }
    throw unknown(name)
  }
  const value = parseJson(text, name)
  if (isAttack(value)) return { kind: 'attack', document: checkAttack(value, name) }
  const members = membersOf(value)
  const result =
    members && (k6Summary(members) ?? vegetaReport(members) ?? vegetaResults([members]) ?? autocannonResult(members))
  if (result === undefined) throw unknown(name)
  return { kind: 'foreign', result }
}

/** Of text that is an object a line; undefined for one that is a single document. */
function linesOf(text: string, name: string): Members[] | undefined {
  const end = text.indexOf('\n')
  const first = text.slice(0, end === -1 ? text.length : end)
  if (!first.startsWith('{') || !first.trimEnd().endsWith('}') || text.slice(first.length).trim() === '')
    return undefined
  const lines: Members[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const members = membersOf(parseJson(line, `${name}, line ${at + 1},`))
    if (members === undefined) throw unknown(name)
    lines.push(members)
  }
  return lines
}

const unknown = (name: string): UserError =>
  new UserError(
    `${name} is no result that meltlab knows; it reads those of attack --json, of k6 (summary, --out json), vegeta (report -type=json, encode --to json) and autocannon --json`,
  )
