/** The verdict on each arm of a melt run, such as `melts at 2x` or `holds to 10x`. Pure. */
import { formatMultiple, formatPercent, formatRate } from '../report/format.ts'
import type { ScenarioArm, Standing } from '../report/result.ts'
import { keptOf, NO_VERDICT, toneOf } from '../report/standing.ts'
import type { Recoveries, Row } from './measured.ts'
import { backInWords } from './recovery.ts'

type Kept = Pick<Row, 'arm' | 'multiple' | 'offered' | 'goodput' | 'ofCapacity' | 'died' | 'unjudged'>

/** The figure of each arm is its goodput at the highest load that all arms had. */
export function standings(
  rows: readonly Kept[],
  arms: readonly Pick<ScenarioArm, 'name'>[],
  recovered?: Recoveries,
): readonly Standing[] {
  const byArm = arms.flatMap(({ name }) => {
    const mine = rows.filter(row => row.arm === name).toSorted((a, b) => a.multiple - b.multiple)
    return mine.length === 0 ? [] : [{ name, mine }]
  })
  const common = Math.min(...byArm.map(({ mine }) => mine.at(-1)!.multiple))
  return byArm.map(({ name, mine }) => {
    const { goodput } = mine.findLast(row => row.multiple <= common) ?? mine[0]!
    const { says, tone } = verdictOf(mine)
    const recovery = tone === 'none' ? undefined : recovered?.arms.find(({ arm }) => arm === name)
    return {
      arm: name,
      says: recovery === undefined ? says : `${says}, ${backInWords(recovery, recovered!.shape)}`,
      tone: recovery?.backAfterS === null ? 'bad' : tone,
      figure: `${formatRate(goodput)}/s`,
      of: `good at ${formatMultiple(common)}`,
    }
  })
}

function verdictOf(rows: readonly Kept[]): Pick<Standing, 'says' | 'tone'> {
  const shares = rows.filter(({ unjudged }) => unjudged === undefined).map(row => ({ ...row, share: keptOf(row) }))
  const dead = shares.find(row => row.died)
  const melted = shares.find(row => toneOf(row.share) === 'bad')
  if (dead !== undefined && dead.multiple <= (melted?.multiple ?? Number.POSITIVE_INFINITY)) {
    return { says: `dies at ${formatMultiple(dead.multiple)}`, tone: 'bad' }
  }
  if (melted !== undefined) return { says: `melts at ${formatMultiple(melted.multiple)}`, tone: 'bad' }
  // The arm may have melted at its highest load.
  if (rows.at(-1)!.unjudged !== undefined) return NO_VERDICT
  const worst = shares.reduce((a, b) => (b.share < a.share ? b : a))
  const most = formatMultiple(shares.at(-1)!.multiple)
  if (toneOf(worst.share) === 'good') return { says: `holds to ${most}`, tone: 'good' }
  return { says: `sags to ${formatPercent(worst.share)} at ${formatMultiple(worst.multiple)}`, tone: 'fair' }
}
