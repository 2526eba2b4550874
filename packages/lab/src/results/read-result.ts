/** Reads a result of `attack --json`, and recognises by its form whether it has one run or `--steps`. */
import type { AttackDocument } from './attack-document.ts'
import { checkAttack, isAttack, parseJson } from './read-attack.ts'

export type ReadResult =
  | { readonly kind: 'attack'; readonly document: AttackDocument }
  /** From `attack --steps`. */
  | { readonly kind: 'steps'; readonly documents: readonly AttackDocument[] }

/** @throws UserError that says in one sentence why it cannot be read; `name` is the user's name for it */
export function readResult(content: string, name: string): ReadResult {
  // Windows tools may write a byte order mark.
  const text = content.startsWith('\uFEFF') ? content.slice(1) : content
  const value = parseJson(text, name)
  const { steps } = (value ?? {}) as { readonly steps?: unknown }
  if (Array.isArray(steps) && steps.length > 0 && steps.every(isAttack)) {
    return { kind: 'steps', documents: steps.map((each, at) => checkAttack(each, `step ${at + 1} of ${name}`)) }
  }
  return { kind: 'attack', document: checkAttack(value, name) }
}
