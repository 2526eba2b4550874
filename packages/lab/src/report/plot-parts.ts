/** The common parts of plots: frame, colours, marks, text, grid and legend. SVG text, pure. */
import { escapeText } from './escape.ts'
import { formatUnit } from './format.ts'
import type { Box, Scale } from './plot-frame.ts'
import type { Axis, Level, ScenarioArm } from './result.ts'

/** The area of a plot, px. Each plot is drawn for a page, and with letters of the same size for a phone. */
export interface Frame {
  readonly width: number
  /** `margin` is the x of the text above the plot, `left` the x at which the plot area begins. */
  readonly margin: number
  readonly left: number
  readonly top: number
  readonly bottom: number
  /** Too narrow for names beside lines and for bars side by side. */
  readonly narrow: boolean
}

export const WIDE: Frame = { width: 960, margin: 28, left: 84, top: 40, bottom: 352, narrow: false }
export const NARROW: Frame = { width: 420, margin: 12, left: 66, top: 34, bottom: 230, narrow: true }

/** The SVG text, and its lower end. */
export interface Drawn {
  readonly inner: string
  readonly height: number
}

export interface ArmStyle {
  readonly light: string
  readonly dark: string
  readonly mark: 'circle' | 'square' | 'triangle' | 'diamond' | 'down' | 'cross'
  /** Stroke lengths and gaps, px; empty is a solid line. */
  readonly dash: readonly number[]
}

/** Based on Okabe and Ito's set for colour blindness. Nothing depends on colour alone. */
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

export interface Styled extends ScenarioArm {
  readonly style: ArmStyle
  readonly className: string
}

export function styled(arms: readonly ScenarioArm[]): readonly Styled[] {
  const styles = stylesOf(arms)
  return arms.map((arm, at) => ({ ...arm, style: styles[at]!, className: `arm${at}` }))
}

export function armOf(name: string, arms: readonly Styled[]): Styled {
  const found = arms.find(arm => arm.name === name)
  if (found === undefined) throw new Error(`a plot names the arm '${name}', which the scenario does not have`)
  return found
}

export function px(value: number): string {
  return String(Math.round(value * 10) / 10)
}

export const polyline = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y]) => `${px(x)},${px(y)}`).join(' ')

/** About 8.6 px per letter for names, and 7.6 px for ticks. */
export const nameWidth = (text: string): number => text.length * 8.6
export const tickWidth = (text: string): number => text.length * 7.6

export function text(className: string, x: number, y: number, words: string, anchor?: 'middle' | 'end'): string {
  const anchored = anchor === undefined ? '' : ` text-anchor="${anchor}"`
  return `<text class="${className}" x="${px(x)}" y="${px(y)}"${anchored}>${escapeText(words)}</text>`
}

/** Corners of marks with straight sides: x and y alternate, px from the middle. */
const CORNERS = {
  triangle: [0, -6, 6, 4.5, -6, 4.5],
  down: [0, 6, 6, -4.5, -6, -4.5],
  diamond: [0, -6.5, 6.5, 0, 0, 6.5, -6.5, 0],
  cross: [-2, -6, 2, -6, 2, -2, 6, -2, 6, 2, 2, 2, 2, 6, -2, 6, -2, 2, -6, 2, -6, -2, -2, -2],
} as const

export function mark(shape: ArmStyle['mark'], cx: number, cy: number): string {
  if (shape === 'circle') return `<circle cx="${px(cx)}" cy="${px(cy)}" r="5"/>`
  if (shape === 'square') return `<rect x="${px(cx - 4.5)}" y="${px(cy - 4.5)}" width="9" height="9"/>`
  const corners = CORNERS[shape].map((offset, at) => px(offset + (at % 2 === 0 ? cx : cy)))
  return `<polygon points="${corners.join(' ')}"/>`
}

/** Horizontal lines with their values, the bottom axis, and the title of the values. */
export function grid(axis: Axis, y: Scale, { margin, left, top, bottom }: Frame, right: number): string {
  const lines = y.ticks.map(
    tick =>
      `<line class="grid" x1="${left}" x2="${px(right)}" y1="${px(y.to(tick))}" y2="${px(y.to(tick))}"/>` +
      text('tick', left - 10, y.to(tick) + 5, formatUnit(tick, axis.unit), 'end'),
  )
  return [
    text('tick', margin, top - 20, axis.label),
    ...lines,
    `<line class="axis" x1="${left}" x2="${px(right)}" y1="${bottom}" y2="${bottom}"/>`,
  ].join('')
}

/** Distance of a level's name from the axis, and of its baseline from the level's line, px. */
const LEVEL_GAP = 6

/** Where {@link levelLine} writes the name of the level. */
export function levelName({ name, value }: Level, y: Scale, frame: Frame): Box {
  const left = frame.left + LEVEL_GAP
  const baseline = y.to(value) - LEVEL_GAP
  return { left, right: left + tickWidth(name), top: baseline - 14, bottom: baseline + 4 }
}

export function levelLine(level: Level, y: Scale, { left }: Frame, right: number): string {
  const at = px(y.to(level.value))
  return (
    `<line class="level" x1="${left}" x2="${px(right)}" y1="${at}" y2="${at}"/>` +
    text('tick over', left + LEVEL_GAP, y.to(level.value) - LEVEL_GAP, level.name)
  )
}

/** The legend: mark, colour and name of each arm, in as many rows as necessary. */
export function legend(
  names: readonly string[],
  arms: readonly Styled[],
  { left: from, width }: Frame,
  top: number,
): Drawn {
  let [left, y] = [from, top]
  const entries = names.map(name => {
    const arm = armOf(name, arms)
    const room = 34 + nameWidth(name)
    if (left > from && left + room > width) [left, y] = [from, y + 22]
    const at = left
    left += room
    return `<g class="${arm.className}">${mark(arm.style.mark, at + 8, y - 5)}</g>${text(`name ${arm.className}`, at + 20, y, name)}`
  })
  return { inner: entries.join(''), height: y }
}
