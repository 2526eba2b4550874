/** One panel for each arm, side by side on the same axes, as SVG text. Pure. */
import { formatUnit } from './format.ts'
import { scaleOf } from './plot-frame.ts'
import { armOf, type Drawn, type Frame, polyline, px, type Styled, text } from './plot-parts.ts'
import type { PanelLine, PanelsPlot } from './result.ts'

/** Distance between panels, room below each for its time axis, and room above for its title; px. */
const gap = 22
const footroom = 20
const headroom = 52
const wide = { columns: 4, height: 128 }
const narrow = { columns: 1, height: 84 }
const labelRoom = 40
const sample = 30
/** Stroke lengths and gaps of thin lines, px. */
const dashes = { solid: '', dashed: '7 4', dotted: '2 3' } as const

export function panels(drawn: PanelsPlot, arms: readonly Styled[], frame: Frame): Drawn {
  const { columns, height } = frame.narrow ? narrow : wide
  const from = frame.margin + labelRoom
  const width = (frame.width - from - frame.margin + gap) / columns - gap
  const points = drawn.panels.flatMap(({ lines }) => lines.flatMap(line => line.points))
  const values = points.map(([, value]) => value)
  const last = Math.max(1, ...points.map(([x]) => x))
  const rows = Math.ceil(drawn.panels.length / columns)
  const made = drawn.panels.map(({ arm, says, lines }, n) => {
    const left = from + (n % columns) * (width + gap)
    const bottom = Math.floor(n / columns) * (height + headroom + footroom) + headroom + height
    const y = scaleOf(drawn.y, values, bottom, bottom - height)
    const x = (value: number): number => left + (width * value) / last
    const placed = (line: PanelLine) => line.points.map(([at, value]) => [x(at), y.to(value)] as const)
    const ticks = y.ticks.filter((_, at) => at % 2 === 0)
    const styled = armOf(arm, arms)
    return [
      text(`name ${styled.className}`, left, bottom - height - 30, arm),
      text('tick', left, bottom - height - 12, says),
      text('tick', left + width, bottom + 17, formatUnit(last, drawn.x.unit), 'end'),
      ...ticks.map(
        tick =>
          `<line class="${tick === 0 ? 'axis' : 'grid'}" x1="${px(left)}" x2="${px(left + width)}" y1="${px(y.to(tick))}" y2="${px(y.to(tick))}"/>` +
          (n % columns === 0 ? text('tick', left - 8, y.to(tick) + 5, formatUnit(tick, drawn.y.unit), 'end') : ''),
      ),
      ...lines.map(line => drawnLine(line, styled, placed(line), bottom)),
      `<line class="axis" x1="${px(x(drawn.mark.at))}" x2="${px(x(drawn.mark.at))}" y1="${px(bottom - height)}" y2="${px(bottom)}"/>`,
    ].join('')
  })
  const end = rows * (height + headroom + footroom) + gap
  const key = legend(drawn, arms, frame, end + 4)
  return { inner: made.join('') + key.inner, height: key.height + 18 }
}

function drawnLine(line: PanelLine, arm: Styled, at: readonly (readonly [number, number])[], bottom: number): string {
  const course = polyline(at)
  if (line.style === 'arm') return `<polyline class="line ${arm.className}" style="fill:none" points="${course}"/>`
  if (line.style !== 'area') {
    return `<polyline class="level" style="fill:none;stroke-dasharray:${dashes[line.style] || 'none'}" points="${course}"/>`
  }
  const [first, last] = [at[0]?.[0] ?? 0, at.at(-1)?.[0] ?? 0]
  return `<polygon class="tick" style="opacity:.2" points="${px(first)},${px(bottom)} ${course} ${px(last)},${px(bottom)}"/>`
}

/** The legend of line styles, in as many rows as necessary. */
function legend({ panels: [first], mark }: PanelsPlot, arms: readonly Styled[], frame: Frame, top: number): Drawn {
  if (first === undefined) return { inner: '', height: top }
  const arm = armOf(first.arm, arms)
  let [left, y] = [frame.margin, top]
  const place = (name: string): number => {
    const room = sample + 12 + name.length * 7.6 + 14
    if (left > frame.margin && left + room > frame.width) [left, y] = [frame.margin, y + 22]
    left += room
    return left - room
  }
  const byName = [...new Map(first.lines.map(line => [line.name, line])).values()]
  const entries = byName.map(line => {
    const at = place(line.name)
    const ends = [at, at + sample].map(each => [each, line.style === 'area' ? y - 12 : y - 5] as const)
    return drawnLine(line, arm, ends, y) + text('tick', at + sample + 8, y, line.name)
  })
  const said = `upright line: ${mark.name}`
  const at = place(said) + sample + 8
  return { inner: entries.join('') + text('tick', at, y, said), height: y }
}
