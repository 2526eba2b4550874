/** Reads a result of `attack --json`, and knows by its form whether it is of one run or of `--steps`. */
import type { AttackDocument } from './attack-document.ts'
import { checkAttack, isAttack, parseJson } from './read-attack.ts'

export type ReadResult =
  | { readonly kind: 'attack'; readonly document: AttackDocument }
  /** Of `attack --steps`. */
  | { readonly kind: 'steps'; readonly documents: readonly AttackDocument[] }

/** @throws UserError that says in a sentence why it can not be read; `name` is how the user named it */
export function readResult(content: string, name: string): ReadResult {
  // Windows puts a byte order mark before it.
  const text = content.startsWith('\uFEFF') ? content.slice(1) : content
  const value = parseJson(text, name)
  const { steps } = (value ?? {}) as { readonly steps?: unknown }
  if (Array.isArray(steps) && steps.length > 0 && steps.every(isAttack)) {
    return { kind: 'steps', documents: steps.map((each, at) => checkAttack(each, `step ${at + 1} of ${name}`)) }
  }
  return { kind: 'attack', document: checkAttack(value, name) }
}
