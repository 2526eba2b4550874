/** Colours of the arms, from Okabe and Ito's set for colour blindness. Nothing depends on colour alone. Pure. */
import type { ScenarioArm } from './result.ts'

export interface ArmStyle {
  readonly light: string
  readonly dark: string
  readonly mark: 'circle' | 'square' | 'triangle' | 'diamond' | 'down' | 'cross'
  /** Stroke lengths and gaps, px; empty is a solid line. */
  readonly dash: readonly number[]
}

const bare: ArmStyle = { light: '#c44e00', dark: '#ff8a3d', mark: 'square', dash: [] }
const guarded: ArmStyle = { light: '#0072b2', dark: '#56b4e9', mark: 'circle', dash: [] }
const others: readonly ArmStyle[] = [
  { light: '#8a5a9e', dark: '#d7a3e0', mark: 'triangle', dash: [8, 5] },
  { light: '#00795a', dark: '#2fc79b', mark: 'diamond', dash: [3, 4] },
  { light: '#8a6d00', dark: '#f0c53b', mark: 'triangle', dash: [12, 4, 3, 4] },
  { light: '#b0306a', dark: '#ff8fb8', mark: 'down', dash: [2, 3] },
  { light: '#4c5bab', dark: '#a9b4ff', mark: 'cross', dash: [10, 3] },
  { light: '#5f6368', dark: '#b9bec6', mark: 'diamond', dash: [6, 2] },
]

export function stylesOf(arms: readonly Pick<ScenarioArm, 'kind'>[]): readonly ArmStyle[] {
  let next = 0
  return arms.map(arm => {
    if (arm.kind === 'bare') return bare
    if (arm.kind === 'protected') return guarded
    return others[next++ % others.length]!
  })
}
