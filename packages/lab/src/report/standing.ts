/** Where an arm stands, from the share of the possible that it kept. Pure. */
import type { Standing } from './result.ts'

/** Below this share of what is possible an app has melted, in words; from the other on it has held. */
export const meltedBelow = 0.5
const heldFrom = 0.9

/** As the share reads in whole percent, so that words and figures never contradict each other. */
export function toneOf(exact: number): Standing['tone'] {
  const share = Math.round(exact * 100) / 100
  if (share < meltedBelow) return 'bad'
  return share >= heldFrom ? 'good' : 'fair'
}

/** Signs beside the words, for whoever does not see the colours. */
export const SIGNS: Readonly<Record<Standing['tone'], string>> = { good: '✓', fair: '~', bad: '✗' }
