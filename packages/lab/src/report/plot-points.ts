/** Points of two figures as SVG text: a panel for each load, side by side, or stacked in a narrow frame. Pure. */
import { escapeText } from './escape.ts'
import { formatUnit } from './format.ts'
import { besidePoints, scaleOf, withoutTouching } from './plot-frame.ts'
import {
  armOf,
  type Drawn,
  type Frame,
  grid,
  levelLine,
  levelName,
  mark,
  nameWidth,
  px,
  type Styled,
  text,
} from './plot-parts.ts'
import type { PointsPlot } from './result.ts'

/** Room right of the axis for points without a value, px. */
const ROOM_FOR_NONE = 70
/** Distance between two panels, with room for the values of the second panel's axis; px. */
const BETWEEN = 92
const TICK_GAP = 62

export function points(drawn: PointsPlot, arms: readonly Styled[], frame: Frame): Drawn {
  const beside = frame.narrow ? 1 : drawn.panels.length
  const width = (frame.width - 28 - frame.left - BETWEEN * (beside - 1)) / Math.max(1, beside)
  const height = frame.bottom + 68
  const panels = drawn.panels.map((panel, at) => {
    const left = frame.left + (frame.narrow ? 0 : at * (width + BETWEEN))
    const place = { ...frame, left, margin: left - frame.left + frame.margin }
    const inner = onePanel(panel, drawn, arms, place, left + width)
    return frame.narrow && at > 0 ? `<g transform="translate(0 ${at * height})">${inner}</g>` : inner
  })
  return { inner: panels.join(''), height: height * (frame.narrow ? Math.max(1, drawn.panels.length) : 1) }
}

/** The values of all panels set the scales, because they have the same axes. */
function onePanel(
  { label, ideal, points: own }: PointsPlot['panels'][number],
  drawn: PointsPlot,
  arms: readonly Styled[],
  frame: Frame,
  right: number,
): string {
  const all = drawn.panels.flatMap(panel => panel.points)
  const ys = [...all.map(point => point.y), ...drawn.panels.map(panel => panel.ideal.value)]
  const y = scaleOf(drawn.y, ys, frame.bottom, frame.top)
  const xs = all.flatMap(point => (point.x === null ? [] : [point.x]))
  // Half of the lowest value is included, so that the shaded corner has room to the left of every point.
  const values = [Math.min(...xs, Number.MAX_VALUE) / 2, ...xs].filter(() => xs.length > 0)
  const hasNone = own.some(point => point.x === null)
  const x = scaleOf(drawn.x, values, frame.left, right - (hasNone ? ROOM_FOR_NONE : 0))
  // The protected arm is named first, so that its name is beside its point.
  const placed = own
    .map(point => ({ ...point, arm: armOf(point.arm, arms), cx: point.x === null ? right - 20 : x.to(point.x) }))
    .map(point => ({ ...point, cy: y.to(point.y) }))
    .toSorted((a, b) => Number(b.arm.kind === 'protected') - Number(a.arm.kind === 'protected'))
  const named = placed.map(({ cx, cy, arm }) => ({ x: cx, y: cy, width: nameWidth(arm.name) }))
  const within = { left: frame.left, right: right + 4, top: frame.top - 12, bottom: frame.bottom + 10 }
  const names = besidePoints(named, within, [levelName(ideal, y, frame)])
  const shown = withoutTouching(x.ticks, x.to, TICK_GAP)
  const ticks = shown.map(tick => ({ at: x.to(tick), words: formatUnit(tick, drawn.x.unit) }))
  if (hasNone) ticks.push({ at: right - 20, words: 'none' })
  return [
    ...placed.filter(({ arm }) => arm.kind === 'protected').map(({ arm, cx, cy }) => better(arm, cx, cy, frame)),
    grid({ ...drawn.y, label: `${drawn.y.label}, ${label}` }, y, frame, right),
    ...ticks.map(({ at, words }) => text('tick', at, frame.bottom + 24, words, 'middle')),
    text('tick', (frame.left + right) / 2, frame.bottom + 50, drawn.x.label, 'middle'),
    levelLine(ideal, y, frame, right),
    ...placed.map(({ arm, cx, cy, ...point }) => {
      const at = point.x === null ? 'none' : formatUnit(point.x, drawn.x.unit)
      const words = `${arm.name}: ${formatUnit(point.y, drawn.y.unit)} at ${at}`
      return `<g class="${arm.className}"><title>${escapeText(words)}</title>${mark(arm.style.mark, cx, cy)}</g>`
    }),
    ...placed.map(({ arm }, at) => {
      const { x: left, y: middle, anchor } = names[at]!
      return text(`name over ${arm.className}`, left, middle + 5, arm.name, anchor === 'end' ? 'end' : undefined)
    }),
  ].join('')
}

/** An arm that is better than this one in both figures would be in the shaded corner. */
function better({ className }: Styled, cx: number, cy: number, { left, top }: Frame): string {
  const size = `width="${px(Math.max(0, cx - left))}" height="${px(Math.max(0, cy - top))}"`
  return `<g class="${className}"><rect x="${px(left)}" y="${px(top)}" ${size} fill-opacity="0.1" stroke="none"/></g>`
}
