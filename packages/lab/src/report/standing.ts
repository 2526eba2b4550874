/** The verdict on an arm, from the share of the possible goodput that it kept. Pure. */
import { formatPercent } from './format.ts'
import type { Standing, View } from './result.ts'

/** Shares of the possible goodput: below the first, an app has melted; from the second on, it has held. */
export const meltedBelow = 0.5
const heldFrom = 0.9

type Kept = Readonly<Record<'goodput' | 'offered' | 'ofCapacity', number>>

/** The share of the possible goodput: of everything offered, or of the capacity if more was offered. */
export const keptOf = ({ goodput, offered, ofCapacity }: Kept): number =>
  offered === 0 ? 1 : Math.max(goodput / offered, ofCapacity)

/** Judges the share rounded to whole percent, so that words and figures never contradict each other. */
export function toneOf(exact: number): 'good' | 'fair' | 'bad' {
  const share = Math.round(exact * 100) / 100
  if (share < meltedBelow) return 'bad'
  return share >= heldFrom ? 'good' : 'fair'
}

/** Orders shares by their tone: 0 is the worst. */
export const rankOf = (share: number): number => ['bad', 'fair', 'good'].indexOf(toneOf(share))

/** The verdict on an arm with a single load. `of` names what the share refers to. */
export function standingOf(arm: string, share: number, of: string): Standing {
  const tone = toneOf(share)
  const says = { good: 'holds', fair: 'sags', bad: 'melts' }[tone]
  return { arm, says, tone, figure: formatPercent(share), of }
}

/** Signs beside the verdict, for readers who cannot see the colours. */
export const SIGNS: Readonly<Record<Standing['tone'], string>> = { good: '✓', fair: '~', bad: '✗', none: '–' }

export const NOTHING_MEASURED: View = {
  finding: 'Nothing was measured before the run ended.',
  tables: [],
  plots: [],
}

export const NO_VERDICT = { says: 'no verdict', tone: 'none' } as const

/** Shows the figures in grey; `why` says what prevents a verdict, and what to do. */
export function withoutVerdict(view: View, why: string): View {
  const { standings = [] } = view
  if (standings.length === 0) return view
  return {
    ...view,
    unjudged: why,
    finding: `No verdict: ${why}.`,
    standings: standings.map(each => ({ ...each, ...NO_VERDICT })),
  }
}
