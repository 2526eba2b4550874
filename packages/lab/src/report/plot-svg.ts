/**
 * The plots of a scenario as SVG: in the page they take its colours, as a picture of their own they bring them along and
 * follow the reader's light or dark theme. Pure.
 */
import { escapeText } from './escape.ts'
import { wrapWords } from './wrap-words.ts'
import { type ArmStyle, stylesOf } from './palette.ts'
import { bottomScale, keepApart, type Scale, scaleOf, withoutTouching } from './plot-frame.ts'
import type { BarsPlot, Guide, Level, LinesPlot, Plot, ScenarioArm } from './result.ts'
import { formatUnit } from './units.ts'

const width = 960
const height = 420
const plot = { left: 84, top: 40, bottom: 352 }
const labelGap = 19
/** Characters of a headline's line that fit in whatever sans-serif there is, and how far its lines are apart; px. */
const headlineLength = 72
const headlineGap = 26
/** Marks closer together than this are a smear; px. */
const markDistance = 34
/** Labels of ticks closer together than this touch; px. */
const tickDistance = 30

interface Styled extends ScenarioArm {
  readonly style: ArmStyle
  /** Class of its colour. */
  readonly className: string
}

export function styled(arms: readonly ScenarioArm[]): readonly Styled[] {
  const styles = stylesOf(arms)
  return arms.map((arm, at) => ({ ...arm, style: styles[at]!, className: `arm${at}` }))
}

/** A plot for the page: no colours of its own. */
export function plotSvg(drawn: Plot, arms: readonly ScenarioArm[]): string {
  return svg(drawn.title, body(drawn, styled(arms)), 0, '')
}

/** A plot as a picture of its own, with a headline. */
export function pictureSvg(drawn: Plot, arms: readonly ScenarioArm[], headline: string): string {
  const words = wrapWords(headline, headlineLength)
  const below = 40 + headlineGap * words.length
  const titles = [
    ...words.map((line, at) => `<text class="title" x="28" y="${40 + headlineGap * at}">${escapeText(line)}</text>`),
    `<text class="tick" x="28" y="${below + 2}">${escapeText(drawn.title)}</text>`,
  ]
  const room = below + 6
  const inner = `${titles.join('')}<g transform="translate(0 ${room})">${body(drawn, styled(arms))}</g>`
  return svg(
    headline,
    `<rect class="paper" width="${width}" height="${height + room}" rx="12"/>${inner}`,
    room,
    styleOf(arms),
  )
}

/** A picture that only says something, for a run without figures. */
export function emptySvg(words: string): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 80" width="${width}" height="80" role="img">` +
    `<text x="28" y="46" font-family="system-ui,sans-serif" font-size="20">${escapeText(words)}</text></svg>\n`
  )
}

function svg(title: string, inner: string, room: number, style: string): string {
  const tall = height + room
  const size = style === '' ? '' : ` width="${width}" height="${tall}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" class="drawn" viewBox="0 0 ${width} ${tall}"${size} role="img"><title>${escapeText(title)}</title>${style}${inner}</svg>\n`
}

function body(drawn: Plot, arms: readonly Styled[]): string {
  return drawn.kind === 'lines' ? lines(drawn, arms) : bars(drawn, arms)
}

function lines(drawn: LinesPlot, arms: readonly Styled[]): string {
  const shown = drawn.series.filter(series => series.points.some(([, y]) => y !== null))
  const names = shown.map(series => series.arm)
  const right = width - roomForNames(names)
  const points = shown.flatMap(series => series.points)
  const levels = drawn.levels ?? []
  const guided = drawn.guide?.points ?? []
  const xs = [...points, ...guided].map(([x]) => x)
  const ys = [...points, ...guided].flatMap(([, y]) => (y === null ? [] : [y]))
  const x = bottomScale(drawn.x, xs, plot.left, right)
  const y = scaleOf(drawn.y, [...ys, ...levels.map(level => level.value)], plot.bottom, plot.top)
  const ticks = withoutTouching(x.ticks, x.to, tickDistance).map(
    tick =>
      `<line class="axis" x1="${px(x.to(tick))}" x2="${px(x.to(tick))}" y1="${plot.bottom}" y2="${plot.bottom + 6}"/>` +
      `<text class="tick" x="${px(x.to(tick))}" y="${plot.bottom + 24}" text-anchor="middle">${escapeText(formatUnit(tick, drawn.x.unit))}</text>`,
  )
  const paths = shown.map(series => oneLine(series.points, armOf(series.arm, arms), x, y, drawn))
  const ends = shown.map(series => {
    const last = series.points.findLast(([, value]) => value !== null)!
    return { text: series.arm, className: armOf(series.arm, arms).className, y: y.to(last[1]!) }
  })
  const labels = keepApart(ends, plot.top + 6, plot.bottom, labelGap).map(
    end => `<text class="name ${end.className}" x="${right + 14}" y="${px(end.y + 5)}">${escapeText(end.text)}</text>`,
  )
  return [
    grid(drawn, y, right),
    ...ticks,
    `<text class="tick" x="${px((plot.left + right) / 2)}" y="${plot.bottom + 50}" text-anchor="middle">${escapeText(drawn.x.label)}</text>`,
    ...levels.map(level => levelLine(level, y, right)),
    drawn.guide === undefined ? '' : guideLine(drawn.guide, x, y),
    ...paths,
    ...labels,
  ].join('')
}

function oneLine(
  points: readonly (readonly [number, number | null])[],
  arm: Styled,
  x: Scale,
  y: Scale,
  drawn: LinesPlot,
): string {
  const dash = arm.style.dash.length === 0 ? '' : ` stroke-dasharray="${arm.style.dash.join(' ')}"`
  const stretches: string[][] = [[]]
  let lastMark = Number.NEGATIVE_INFINITY
  const marks: string[] = []
  for (const [at, value] of points) {
    if (value === null) {
      stretches.push([])
      continue
    }
    const [cx, cy] = [x.to(at), y.to(value)]
    stretches.at(-1)!.push(`${px(cx)},${px(cy)}`)
    if (cx - lastMark < markDistance) continue
    lastMark = cx
    const words = `${arm.name}: ${formatUnit(value, drawn.y.unit)} at ${formatUnit(at, drawn.x.unit)}`
    marks.push(`<g><title>${escapeText(words)}</title>${mark(arm.style.mark, cx, cy)}</g>`)
  }
  const drawnLines = stretches
    .filter(stretch => stretch.length > 1)
    .map(stretch => `<polyline class="line" points="${stretch.join(' ')}"${dash}/>`)
  return `<g class="${arm.className}">${drawnLines.join('')}${marks.join('')}</g>`
}

function bars(drawn: BarsPlot, arms: readonly Styled[]): string {
  const names = [...new Set(drawn.groups.flatMap(group => group.bars.map(bar => bar.arm)))]
  const right = width - 28
  const levels = drawn.levels ?? []
  const values = [...drawn.groups.flatMap(group => group.bars.map(bar => bar.value)), ...levels.map(each => each.value)]
  const y = scaleOf(drawn.y, values, plot.bottom, plot.top)
  const groupWidth = (right - plot.left) / Math.max(1, drawn.groups.length)
  const groups = drawn.groups.map((group, at) => {
    const left = plot.left + at * groupWidth
    // A bar wider than this is a wall; the rest of its place stays empty.
    const each = Math.min(84, (groupWidth * 0.8) / Math.max(1, group.bars.length))
    const start = left + (groupWidth - each * group.bars.length) / 2
    const made = group.bars.map((bar, n) => {
      const arm = armOf(bar.arm, arms)
      const [cx, top] = [start + each * (n + 0.5), y.to(bar.value)]
      const words = formatUnit(bar.value, drawn.y.unit)
      return (
        `<g class="${arm.className}"><title>${escapeText(`${group.label}, ${bar.arm}: ${words}`)}</title>` +
        `<rect x="${px(start + each * n + 3)}" y="${px(top)}" width="${px(each - 6)}" height="${px(Math.max(1.5, plot.bottom - top))}" rx="3"/></g>` +
        `<text class="value" x="${px(cx)}" y="${px(top - 7)}" text-anchor="middle">${escapeText(words)}</text>`
      )
    })
    const label = `<text class="tick strong" x="${px(left + groupWidth / 2)}" y="${plot.bottom + 24}" text-anchor="middle">${escapeText(group.label)}</text>`
    return made.join('') + label
  })
  return [
    grid(drawn, y, right),
    ...levels.map(level => levelLine(level, y, right)),
    ...groups,
    legend(names.map(name => armOf(name, arms))),
  ].join('')
}

/** Which mark and colour is whose, below the bars. */
function legend(arms: readonly Styled[]): string {
  let left = plot.left
  return arms
    .map(arm => {
      const at = left
      left += 34 + textWidth(arm.name)
      const y = plot.bottom + 52
      return `<g class="${arm.className}">${mark(arm.style.mark, at + 8, y - 5)}</g><text class="name ${arm.className}" x="${px(at + 20)}" y="${y}">${escapeText(arm.name)}</text>`
    })
    .join('')
}

function grid(drawn: Plot, y: Scale, right: number): string {
  const lines = y.ticks.map(
    tick =>
      `<line class="grid" x1="${plot.left}" x2="${px(right)}" y1="${px(y.to(tick))}" y2="${px(y.to(tick))}"/>` +
      `<text class="tick" x="${plot.left - 10}" y="${px(y.to(tick) + 5)}" text-anchor="end">${escapeText(formatUnit(tick, drawn.y.unit))}</text>`,
  )
  return [
    `<text class="tick" x="28" y="${plot.top - 20}">${escapeText(drawn.y.label)}</text>`,
    ...lines,
    `<line class="axis" x1="${plot.left}" x2="${px(right)}" y1="${plot.bottom}" y2="${plot.bottom}"/>`,
  ].join('')
}

function levelLine(level: Level, y: Scale, right: number): string {
  const at = px(y.to(level.value))
  return (
    `<line class="level" x1="${plot.left}" x2="${px(right)}" y1="${at}" y2="${at}"/>` +
    `<text class="tick" x="${plot.left + 6}" y="${px(y.to(level.value) - 6)}">${escapeText(level.name)}</text>`
  )
}

function guideLine({ name, points }: Guide, x: Scale, y: Scale): string {
  const [lastX, lastY] = points.at(-1)!
  return (
    `<polyline class="ideal" points="${points.map(([cx, cy]) => `${px(x.to(cx))},${px(y.to(cy))}`).join(' ')}"/>` +
    `<text class="tick" x="${px(x.to(lastX))}" y="${px(y.to(lastY) - 10)}" text-anchor="end">${escapeText(name)}</text>`
  )
}

function armOf(name: string, arms: readonly Styled[]): Styled {
  const found = arms.find(arm => arm.name === name)
  if (found === undefined) throw new Error(`a plot names the arm '${name}', which the scenario does not have`)
  return found
}

function mark(shape: ArmStyle['mark'], cx: number, cy: number): string {
  if (shape === 'circle') return `<circle cx="${px(cx)}" cy="${px(cy)}" r="5"/>`
  if (shape === 'square') return `<rect x="${px(cx - 4.5)}" y="${px(cy - 4.5)}" width="9" height="9"/>`
  const corners =
    shape === 'triangle'
      ? [cx, cy - 6, cx + 6, cy + 4.5, cx - 6, cy + 4.5]
      : [cx, cy - 6.5, cx + 6.5, cy, cx, cy + 6.5, cx - 6.5, cy]
  return `<polygon points="${corners.map(px).join(' ')}"/>`
}

/** About 8.6 px a letter at the size of names. */
const textWidth = (text: string): number => text.length * 8.6
const roomForNames = (names: readonly string[]): number => Math.max(60, ...names.map(textWidth)) + 28

function styleOf(arms: readonly ScenarioArm[]): string {
  const colours = (theme: 'light' | 'dark'): string =>
    styled(arms)
      .map(arm => `.${arm.className}{fill:${arm.style[theme]};stroke:${arm.style[theme]}}`)
      .join('')
  return [
    '<style>',
    'text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:14px;stroke:none!important}',
    '.title{font-size:20px;font-weight:650}.name{font-size:15px;font-weight:650}.strong{font-weight:650}.value{font-weight:600;font-size:12px}',
    '.line{fill:none;stroke-width:3;stroke-linejoin:round;stroke-linecap:round}.level{stroke-width:1.5;stroke-dasharray:6 5}.ideal{fill:none;stroke-width:2;stroke-dasharray:2 6;stroke-linecap:round}',
    '.paper{fill:#fff}.title,.strong,.value{fill:#16181d}.tick{fill:#5b6270}.grid{stroke:#e6e8ec}.axis{stroke:#9aa1ad}.level,.ideal{stroke:#7b8290}',
    colours('light'),
    '@media (prefers-color-scheme:dark){',
    '.paper{fill:#12151b}.title,.strong,.value{fill:#f2f4f8}.tick{fill:#a3abb9}.grid{stroke:#262b35}.axis{stroke:#5b6372}.level,.ideal{stroke:#8d95a3}',
    colours('dark'),
    '}</style>',
  ].join('')
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10)
}
