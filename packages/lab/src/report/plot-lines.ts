/** Line plots as SVG text. Pure. */
import { escapeText } from './escape.ts'
import { formatUnit } from './format.ts'
import {
  bottomScale,
  keepApart,
  rowsWithoutTouching,
  type Scale,
  scaleOf,
  thinned,
  withoutTouching,
} from './plot-frame.ts'
import {
  armOf,
  type Drawn,
  type Frame,
  grid,
  legend,
  levelLine,
  mark,
  nameWidth,
  polyline,
  px,
  type Styled,
  text,
  tickWidth,
} from './plot-parts.ts'
import type { Guide, LinesPlot } from './result.ts'

const labelGap = 19
const markDistance = 34
const tickGap = 10

export function lines(drawn: LinesPlot, arms: readonly Styled[], frame: Frame): Drawn {
  const shown = drawn.series.filter(series => series.points.some(([, y]) => y !== null))
  const names = shown.map(series => series.arm)
  const right = frame.width - (frame.narrow ? 18 : Math.max(60, ...names.map(nameWidth)) + 28)
  const points = shown.flatMap(series => series.points)
  const levels = drawn.levels ?? []
  const guided = drawn.guide?.points ?? []
  const xs = [...points, ...guided].map(([x]) => x)
  const ys = [...points, ...guided].flatMap(([, y]) => (y === null ? [] : [y]))
  // A logarithmic axis has no zero, so its first mark need not lie on the vertical axis.
  const inset = drawn.x.scale === 'log' ? 22 : 0
  const x = bottomScale(drawn.x, xs, frame.left + inset, right - inset)
  const y = scaleOf(drawn.y, [...ys, ...levels.map(level => level.value)], frame.bottom, frame.top)
  const ticks = bottomTicks(drawn, x, frame)
  const labelled = ticks.height + 26
  const paths = shown.map(series => oneLine(series.points, armOf(series.arm, arms), x, y, drawn))
  const whose = frame.narrow
    ? legend(names, arms, frame, labelled + 28)
    : { inner: endNames(shown, arms, y, frame, right), height: labelled }
  const inner = [
    grid(drawn.y, y, frame, right),
    ticks.inner,
    text('tick', (frame.left + right) / 2, labelled, drawn.x.label, 'middle'),
    ...levels.map(level => levelLine(level, y, frame, right)),
    drawn.guide === undefined ? '' : guideLine(drawn.guide, x, y),
    ...paths,
    whose.inner,
  ]
  return { inner: inner.join(''), height: whose.height + 18 }
}

/** Ticks that the plot lists are all labelled, in further rows if needed; automatic ticks lose labels instead. */
function bottomTicks({ x: axis }: LinesPlot, x: Scale, { bottom }: Frame): Drawn {
  const labels = (ticks: readonly number[]) =>
    ticks.map(tick => ({ at: x.to(tick), words: formatUnit(tick, axis.unit) }))
  const room = (words: string): number => tickWidth(words) + tickGap
  const widest = Math.max(0, ...x.ticks.map(tick => room(formatUnit(tick, axis.unit))))
  const placed =
    axis.ticks === undefined
      ? labels(withoutTouching(x.ticks, x.to, widest)).map(label => ({ ...label, row: 0 }))
      : rowsWithoutTouching(labels(x.ticks), ({ words }) => room(words))
  const inner = placed.map(
    ({ at, words, row }) =>
      `<line class="axis" x1="${px(at)}" x2="${px(at)}" y1="${bottom}" y2="${bottom + 6 + 18 * row}"/>` +
      text('tick', at, bottom + 24 + 18 * row, words, 'middle'),
  )
  return { inner: inner.join(''), height: bottom + 24 + 18 * Math.max(0, ...placed.map(({ row }) => row)) }
}

function oneLine(
  points: readonly (readonly [number, number | null])[],
  arm: Styled,
  x: Scale,
  y: Scale,
  drawn: LinesPlot,
): string {
  const dash = arm.style.dash.length === 0 ? '' : ` stroke-dasharray="${arm.style.dash.join(' ')}"`
  const stretches: (readonly [number, number])[][] = [[]]
  let lastMark = Number.NEGATIVE_INFINITY
  const marks: string[] = []
  for (const [at, value] of points) {
    if (value === null) {
      stretches.push([])
      continue
    }
    const [cx, cy] = [x.to(at), y.to(value)]
    stretches.at(-1)!.push([cx, cy])
    // Each step is a measurement and gets a mark; a course over time needs only some.
    if (drawn.x.ticks === undefined && cx - lastMark < markDistance) continue
    lastMark = cx
    const words = `${arm.name}: ${formatUnit(value, drawn.y.unit)} at ${formatUnit(at, drawn.x.unit)}`
    marks.push(`<g><title>${escapeText(words)}</title>${mark(arm.style.mark, cx, cy)}</g>`)
  }
  const drawnLines = stretches
    .filter(stretch => stretch.length > 1)
    .map(stretch => `<polyline class="line" points="${polyline(thinned(stretch))}"${dash}/>`)
  return `<g class="${arm.className}">${drawnLines.join('')}${marks.join('')}</g>`
}

function endNames(
  shown: LinesPlot['series'],
  arms: readonly Styled[],
  y: Scale,
  { top, bottom }: Frame,
  right: number,
): string {
  const ends = shown.map(series => {
    const last = series.points.findLast(([, value]) => value !== null)!
    return { words: series.arm, className: armOf(series.arm, arms).className, y: y.to(last[1]!) }
  })
  return keepApart(ends, top + 6, bottom, labelGap)
    .map(end => text(`name ${end.className}`, right + 14, end.y + 5, end.words))
    .join('')
}

function guideLine({ name, points }: Guide, x: Scale, y: Scale): string {
  const [lastX, lastY] = points.at(-1)!
  return (
    `<polyline class="ideal" points="${polyline(points.map(([cx, cy]) => [x.to(cx), y.to(cy)]))}"/>` +
    text('tick over', x.to(lastX), y.to(lastY) - 12, name, 'end')
  )
}
