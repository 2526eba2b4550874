/**
 * The picture of a run for a README: goodput against offered load, one line per arm, and the ideal. A string of SVG that
 * needs nothing else and follows the reader's light or dark theme. Pure.
 */
import { escapeText } from './escape.ts'
import { wrapWords } from './wrap-words.ts'
import { finding } from './finding.ts'
import { formatMultiple, formatRate } from './format.ts'
import { type ArmStyle, stylesOf } from './palette.ts'
import type { MeltResult, Row } from './result.ts'

const width = 960
const height = 520
const plot = { left: 76, right: 800, top: 112, bottom: 430 }
/** Names at the line ends keep this distance, px. */
const labelGap = 20

export function curveSvg(result: MeltResult): string {
  const { capacity, rows } = result
  if (capacity === null || rows.length === 0) return empty(result)
  const styles = stylesOf(result.arms)
  const multiples = [...new Set(rows.map(row => row.multiple))].sort((a, b) => a - b)
  const xMax = multiples.at(-1)! * 1.02
  const yMax = Math.max(capacity.rate, ...rows.map(row => row.goodput)) * 1.15
  const yTicks = ticksUpTo(yMax)
  const x = (multiple: number): number => plot.left + ((plot.right - plot.left) * multiple) / xMax
  const y = (rate: number): number => plot.bottom - ((plot.bottom - plot.top) * rate) / yMax

  const grid = yTicks.map(
    tick =>
      `<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${px(y(tick))}" y2="${px(y(tick))}"/>` +
      `<text class="tick" x="${plot.left - 12}" y="${px(y(tick) + 5)}" text-anchor="end">${formatRate(tick)}</text>`,
  )
  const xTicks = withoutCrowding(multiples, x).map(
    multiple =>
      `<line class="axis" x1="${px(x(multiple))}" x2="${px(x(multiple))}" y1="${plot.bottom}" y2="${plot.bottom + 6}"/>` +
      `<text class="tick strong" x="${px(x(multiple))}" y="${plot.bottom + 24}" text-anchor="middle">${formatMultiple(multiple)}</text>` +
      `<text class="tick" x="${px(x(multiple))}" y="${plot.bottom + 42}" text-anchor="middle">${formatRate(multiple * capacity.before)}</text>`,
  )
  const knee = Math.min(1, multiples.at(-1)!)
  const ideal = [
    [x(0), y(0)],
    [x(knee), y(knee * capacity.rate)],
    [x(multiples.at(-1)!), y(knee * capacity.rate)],
  ]
  const arms = result.arms.map((arm, at) => ({
    arm,
    style: styles[at]!,
    rows: rows.filter(row => row.arm === arm.name),
  }))
  const drawn = arms.filter(each => each.rows.length > 0)
  const lines = drawn.map(({ style, rows: mine }, at) => line(mine, style, at, x, y))
  const labels = spread(
    drawn.map(({ arm, rows: mine }, at) => ({ text: arm.name, className: `arm${at}`, y: y(mine.at(-1)!.goodput) })),
  ).map(
    label =>
      `<text class="name ${label.className}" x="${plot.right + 16}" y="${px(label.y + 5)}">${escapeText(label.text)}</text>`,
  )
  const [first, ...rest] = wrapWords(finding(result), 74)
  const second = rest.length === 0 ? undefined : rest.join(' ')
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">`,
    `<title id="title">${escapeText(finding(result))}</title>`,
    style(drawn.map(each => each.style)),
    `<rect class="paper" width="${width}" height="${height}" rx="12"/>`,
    `<text class="title" x="28" y="42">${escapeText(first!)}</text>`,
    second === undefined ? '' : `<text class="title" x="28" y="66">${escapeText(second)}</text>`,
    `<text class="tick" x="28" y="${plot.top - 16}">goodput: answers per second within ${result.conditions.sloMs / 1000} s</text>`,
    ...grid,
    `<line class="axis" x1="${plot.left}" x2="${plot.right}" y1="${plot.bottom}" y2="${plot.bottom}"/>`,
    ...xTicks,
    `<polyline class="ideal" points="${points(ideal)}"/>`,
    `<text class="tick" x="${px(x(multiples.at(-1)!))}" y="${px(y(knee * capacity.rate) - 10)}" text-anchor="end">ideal: what the app can do (${formatRate(capacity.rate)}/s)</text>`,
    ...lines,
    ...labels,
    `<text class="tick" x="${(plot.left + plot.right) / 2}" y="${plot.bottom + 72}" text-anchor="middle">offered load: multiples of the capacity, requests per second</text>`,
    '</svg>',
    '',
  ]
    .filter(part => part !== '')
    .join('\n')
    .concat('\n')
}

function line(
  rows: readonly Row[],
  style: ArmStyle,
  at: number,
  x: (multiple: number) => number,
  y: (rate: number) => number,
): string {
  const path = rows.map(row => [x(row.multiple), y(row.goodput)])
  const dash = style.dash.length === 0 ? '' : ` stroke-dasharray="${style.dash.join(' ')}"`
  const marks = path.map(([cx, cy]) => mark(style.mark, cx!, cy!)).join('')
  return `<g class="arm${at}"><polyline class="line" points="${points(path)}"${dash}/>${marks}</g>`
}

function mark(shape: ArmStyle['mark'], cx: number, cy: number): string {
  if (shape === 'circle') return `<circle cx="${px(cx)}" cy="${px(cy)}" r="6"/>`
  if (shape === 'square') return `<rect x="${px(cx - 5.5)}" y="${px(cy - 5.5)}" width="11" height="11"/>`
  const corners =
    shape === 'triangle'
      ? [
          [cx, cy - 7],
          [cx + 7, cy + 5.5],
          [cx - 7, cy + 5.5],
        ]
      : [
          [cx, cy - 7.5],
          [cx + 7.5, cy],
          [cx, cy + 7.5],
          [cx - 7.5, cy],
        ]
  return `<polygon points="${points(corners)}"/>`
}

function style(styles: readonly ArmStyle[]): string {
  const arms = (theme: 'light' | 'dark'): string =>
    styles.map((each, at) => `.arm${at}{fill:${each[theme]};stroke:${each[theme]}}`).join('')
  return [
    '<style>',
    'text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:14px;stroke:none!important}',
    '.title{font-size:20px;font-weight:650}.name{font-size:16px;font-weight:650}.strong{font-weight:650}',
    '.line{fill:none;stroke-width:3.5;stroke-linejoin:round;stroke-linecap:round}',
    '.ideal{fill:none;stroke-width:2;stroke-dasharray:2 6;stroke-linecap:round}',
    '.paper{fill:#fff}.title,.strong{fill:#16181d}.tick{fill:#5b6270}.grid{stroke:#e6e8ec}.axis{stroke:#9aa1ad}.ideal{stroke:#7b8290}',
    arms('light'),
    '@media (prefers-color-scheme:dark){',
    '.paper{fill:#12151b}.title,.strong{fill:#f2f4f8}.tick{fill:#a3abb9}.grid{stroke:#262b35}.axis{stroke:#5b6372}.ideal{stroke:#8d95a3}',
    arms('dark'),
    '}</style>',
  ].join('')
}

/** Moves labels apart, keeping their order, upwards from the bottom of the plot and back down from its top. */
export function spread<T extends { readonly y: number }>(labels: readonly T[]): T[] {
  let limit = plot.bottom
  const upwards = labels
    .toSorted((a, b) => b.y - a.y)
    .map(label => {
      const y = Math.min(label.y, limit)
      limit = y - labelGap
      return { ...label, y }
    })
  limit = plot.top
  return upwards.toReversed().map(label => {
    const y = Math.max(label.y, limit)
    limit = y + labelGap
    return { ...label, y }
  })
}

/** Round steps from 0 up to `most` at the highest: 1, 2 or 5 times a power of ten. */
export function ticksUpTo(most: number): number[] {
  const rough = Math.max(most, 1e-9) / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(candidate => candidate >= rough)!
  const count = Math.floor(most / step + 1e-9)
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

/** Leaves out ticks whose labels would touch, from the right, so that the highest load keeps its label. */
function withoutCrowding(multiples: readonly number[], x: (multiple: number) => number): number[] {
  const kept: number[] = []
  for (const multiple of multiples.toReversed()) {
    if (kept.length === 0 || x(kept[0]!) - x(multiple) >= 34) kept.unshift(multiple)
  }
  return kept
}

function empty(result: MeltResult): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 80" width="${width}" height="80" role="img">` +
    `<text x="28" y="46" font-family="system-ui,sans-serif" font-size="20">${escapeText(finding(result))}</text></svg>\n`
  )
}

function points(path: readonly (readonly number[])[]): string {
  return path.map(([cx, cy]) => `${px(cx!)},${px(cy!)}`).join(' ')
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10)
}
