/** Where an arm stands, from the share of the possible that it kept. Pure. */
import { formatPercent } from './format.ts'
import type { Standing, View } from './result.ts'

/** Below this share of what is possible an app has melted, in words; from the other on it has held. */
export const meltedBelow = 0.5
const heldFrom = 0.9

interface Kept {
  readonly goodput: number
  readonly offered: number
  /** Goodput over the capacity. */
  readonly ofCapacity: number
}

/** The share of what was possible: of everything offered, or of the capacity where more than that was offered. */
export const keptOf = ({ goodput, offered, ofCapacity }: Kept): number =>
  offered === 0 ? 1 : Math.max(goodput / offered, ofCapacity)

/** As the share reads in whole percent, so that words and figures never contradict each other. */
export function toneOf(exact: number): 'good' | 'fair' | 'bad' {
  const share = Math.round(exact * 100) / 100
  if (share < meltedBelow) return 'bad'
  return share >= heldFrom ? 'good' : 'fair'
}

const SAYS = { good: 'holds', fair: 'sags', bad: 'melts' } as const

/** Of an arm that had one load. `of` says what the share is a share of. */
export function standingOf(arm: string, share: number, of: string): Standing {
  const tone = toneOf(share)
  return { arm, says: SAYS[tone], tone, figure: formatPercent(share), of }
}

/** Signs beside the words, for readers who do not see the colours. */
export const SIGNS: Readonly<Record<Standing['tone'], string>> = { good: '✓', fair: '~', bad: '✗', none: '–' }

/** The figures stay, in grey; `why` says what keeps them from being judged, and what to do. */
export function withoutVerdict(view: View, why: string): View {
  const { standings = [] } = view
  if (standings.length === 0) return view
  return {
    ...view,
    unjudged: why,
    finding: `No verdict: ${why}.`,
    standings: standings.map(each => ({ ...each, says: 'no verdict', tone: 'none' })),
  }
}
