/** Bars as SVG text: vertical in groups, or horizontal if the frame is narrow or there is only one group. Pure. */
import { escapeText } from './escape.ts'
import { formatUnit } from './format.ts'
import { scaleOf } from './plot-frame.ts'
import {
  armOf,
  type Drawn,
  type Frame,
  grid,
  legend,
  levelLine,
  nameWidth,
  px,
  type Styled,
  text,
  tickWidth,
} from './plot-parts.ts'
import type { BarsPlot } from './result.ts'

const widestBar = 84

export function bars(drawn: BarsPlot, arms: readonly Styled[], frame: Frame): Drawn {
  return frame.narrow || drawn.groups.length === 1 ? lying(drawn, arms, frame) : standing(drawn, arms, frame)
}

const valuesOf = ({ groups, levels = [] }: BarsPlot): number[] => [
  ...groups.flatMap(group => group.bars.map(bar => bar.value)),
  ...levels.map(level => level.value),
]

function standing(drawn: BarsPlot, arms: readonly Styled[], frame: Frame): Drawn {
  const { left: from, bottom } = frame
  const names = [...new Set(drawn.groups.flatMap(group => group.bars.map(bar => bar.arm)))]
  const right = frame.width - 28
  const y = scaleOf(drawn.y, valuesOf(drawn), bottom, frame.top)
  const groupWidth = (right - from) / Math.max(1, drawn.groups.length)
  const groups = drawn.groups.map((group, at) => {
    const left = from + at * groupWidth
    const each = Math.min(widestBar, (groupWidth * 0.86) / Math.max(1, group.bars.length))
    const start = left + (groupWidth - each * group.bars.length) / 2
    const made = group.bars.map((bar, n) => {
      const arm = armOf(bar.arm, arms)
      const top = y.to(bar.value)
      const words = formatUnit(bar.value, drawn.y.unit)
      return (
        `<g class="${arm.className}"><title>${escapeText(`${group.label}, ${bar.arm}: ${words}`)}</title>` +
        `<rect x="${px(start + each * n + 3)}" y="${px(top)}" width="${px(each - 6)}" height="${px(Math.max(1.5, bottom - top))}" rx="3"/></g>` +
        text('value', start + each * (n + 0.5), top - 7, words, 'middle')
      )
    })
    return made.join('') + text('tick strong', left + groupWidth / 2, bottom + 24, group.label, 'middle')
  })
  const whose = legend(names, arms, frame, bottom + 56)
  const inner = [
    grid(drawn.y, y, frame, right),
    ...(drawn.levels ?? []).map(level => levelLine(level, y, frame, right)),
    ...groups,
    whose.inner,
  ]
  return { inner: inner.join(''), height: whose.height + 18 }
}

function lying(drawn: BarsPlot, arms: readonly Styled[], frame: Frame): Drawn {
  const [row, thick] = frame.narrow ? [24, 16] : [50, 34]
  const names = drawn.groups.flatMap(group => group.bars.map(bar => bar.arm))
  const left = frame.margin + 12 + Math.max(40, ...names.map(nameWidth))
  const values = drawn.groups.flatMap(group => group.bars.map(bar => tickWidth(formatUnit(bar.value, drawn.y.unit))))
  const right = frame.width - Math.max(30, ...values) - 16
  const x = scaleOf(drawn.y, valuesOf(drawn), left, right)
  let y = 44
  const rows: string[] = []
  for (const group of drawn.groups) {
    if (group.label !== '') {
      rows.push(text('strong', frame.margin, y + 10, group.label))
      y += 22
    }
    for (const bar of group.bars) {
      const arm = armOf(bar.arm, arms)
      const words = formatUnit(bar.value, drawn.y.unit)
      const end = x.to(bar.value)
      const middle = y + row / 2
      rows.push(
        `<g class="${arm.className}"><title>${escapeText(`${group.label} ${bar.arm}: ${words}`.trim())}</title>` +
          `<rect x="${px(left)}" y="${px(middle - thick / 2)}" width="${px(Math.max(1.5, end - left))}" height="${thick}" rx="3"/></g>` +
          text(`name ${arm.className}`, left - 10, middle + 5, bar.arm, 'end') +
          text('value', Math.max(end, left) + 8, middle + 5, words),
      )
      y += row
    }
    y += 10
  }
  const inner = [
    text('tick', frame.margin, 24, drawn.y.label),
    ...x.ticks.map(tick => `<line class="grid" x1="${px(x.to(tick))}" x2="${px(x.to(tick))}" y1="36" y2="${px(y)}"/>`),
    ...(drawn.levels ?? []).map(({ name, value }) => {
      const at = px(x.to(value))
      const line = `<line class="level" x1="${at}" x2="${at}" y1="36" y2="${px(y)}"/>`
      return line + text('tick over', x.to(value), y + 16, name, 'middle')
    }),
    ...rows,
  ]
  return { inner: inner.join(''), height: y + (drawn.levels === undefined ? 6 : 24) }
}
