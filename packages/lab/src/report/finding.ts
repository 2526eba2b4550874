/** The result in words: the sentence on top of the report and the last lines of the terminal. Pure. */
import { formatMultiple, formatPercent, formatRate } from './format.ts'
import type { MeltResult, Row } from './result.ts'

/** Below this share of its capacity an app has melted, in words; above the other it has held. */
const meltedBelow = 0.5
const heldAbove = 0.9

/** One sentence that states what the run found, with figures. */
export function finding(result: MeltResult): string {
  if (result.capacity === null || result.rows.length === 0) return 'Nothing was measured before the run ended.'
  const bare = worst(result.rows, kindNames(result, 'bare'))
  const guarded = worst(result.rows, kindNames(result, 'protected'))
  if (bare === undefined || guarded === undefined) {
    const only = (bare ?? guarded ?? result.rows.at(-1))!
    return `At ${formatMultiple(only.multiple)} its capacity, ${only.arm} keeps ${kept(only)}.`
  }
  // The two are compared where the load was the same.
  const multiple = Math.min(bare.multiple, guarded.multiple)
  const left = result.rows.find(row => row.arm === bare.arm && row.multiple === multiple) ?? bare
  const right = result.rows.find(row => row.arm === guarded.arm && row.multiple === multiple) ?? guarded
  const load = `At ${formatMultiple(multiple)} its capacity`
  if (left.ofCapacity < meltedBelow && right.ofCapacity >= heldAbove) {
    return (
      `${load}, the bare app melts to ${formatRate(left.goodput)} good answers a second; ` +
      `protected, it keeps ${formatRate(right.goodput)}, ${formatPercent(right.ofCapacity)} of what it can do.`
    )
  }
  return `${load}, the bare app keeps ${kept(left)} and the protected one ${kept(right)}.`
}

function kept(row: Row): string {
  return `${formatRate(row.goodput)} good answers a second (${formatPercent(row.ofCapacity)} of what it can do)`
}

function kindNames(result: MeltResult, kind: string): readonly string[] {
  return result.arms.filter(arm => arm.kind === kind).map(arm => arm.name)
}

/** The row at the highest load. */
function worst(rows: readonly Row[], names: readonly string[]): Row | undefined {
  return rows.filter(row => names.includes(row.arm)).toSorted((a, b) => b.multiple - a.multiple)[0]
}

/** What capacity was, and how steady the machine stayed, in one sentence. */
export function capacitySentence(result: MeltResult): string {
  const { capacity } = result
  if (capacity === null) return 'The capacity is not known.'
  const after =
    capacity.after === null
      ? 'it was not measured again'
      : `${formatRate(capacity.after)}/s after, ${signedPercent(capacity.drift ?? 0)}`
  return `Capacity ${formatRate(capacity.rate)}/s (${formatRate(capacity.before)}/s before; ${after}).`
}

function signedPercent(share: number): string {
  const percent = (share * 100).toFixed(1)
  return `${share >= 0 ? '+' : ''}${percent} %`
}
