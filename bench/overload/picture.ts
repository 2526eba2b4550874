/**
 * One suite as a picture: share of the capacity that is still served at each load, on a logarithmic axis (0.7 to 300
 * times), with the curve that no server can beat. Follows the reader's light or dark theme. Pure.
 */
import { escapeText } from '../../packages/lab/src/report/escape.ts'
import { formatMultiple } from '../../packages/lab/src/report/format.ts'
import { type ArmStyle, stylesOf } from '../../packages/lab/src/report/palette.ts'
import type { MeltResult } from '../../packages/lab/src/report/result.ts'
import { spread } from '../../packages/lab/src/report/svg.ts'

const width = 960
const height = 500
const plot = { left: 76, right: 740, top: 84, bottom: 424 }
/** A little above the capacity: measured figures scatter around it. */
const highest = 1.1

/** `ideal` is the best possible share at a load. */
export function pictureOf(title: string, { arms, rows }: MeltResult, ideal: (multiple: number) => number): string {
  const styles = stylesOf(arms)
  const multiples = [...new Set(rows.map(row => row.multiple))].sort((a, b) => a - b)
  const [least, most] = [multiples[0]!, multiples.at(-1)!]
  const x = (multiple: number): number =>
    plot.left + 16 + ((plot.right - plot.left - 16) * Math.log(multiple / least)) / Math.log(most / least)
  const y = (share: number): number => plot.bottom - ((plot.bottom - plot.top) * Math.min(share, highest)) / highest
  const curve = Array.from({ length: 81 }, (_, i) => least * (most / least) ** (i / 80))
  const drawn = arms.map((arm, at) => ({ arm, at, rows: rows.filter(row => row.arm === arm.name) }))
  const labels = spread(
    drawn
      .filter(each => each.rows.length > 0)
      .map(each => ({ text: each.arm.name, at: each.at, y: y(each.rows.at(-1)!.ofCapacity) })),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">`,
    `<title id="title">${escapeText(title)}: share of the capacity kept, by arm and load</title>`,
    styleSheet(styles),
    `<rect class="paper" width="${width}" height="${height}" rx="12"/>`,
    `<text class="title" x="28" y="38">${escapeText(title)}</text>`,
    `<text class="tick" x="28" y="62">answers within 1 s, share of what the bare app can do at its best</text>`,
    ...[0, 0.25, 0.5, 0.75, 1].map(
      share =>
        `<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${px(y(share))}" y2="${px(y(share))}"/>` +
        `<text class="tick" x="${plot.left - 10}" y="${px(y(share) + 5)}" text-anchor="end">${share * 100} %</text>`,
    ),
    ...multiples.map(
      multiple =>
        `<text class="tick" x="${px(x(multiple))}" y="${plot.bottom + 24}" text-anchor="middle">${formatMultiple(multiple)}</text>`,
    ),
    `<polyline class="ideal" points="${curve.map(k => `${px(x(k))},${px(y(ideal(k)))}`).join(' ')}"/>`,
    ...drawn.map(
      each =>
        `<g class="arm${each.at}"><polyline class="line" points="${each.rows.map(row => `${px(x(row.multiple))},${px(y(row.ofCapacity))}`).join(' ')}"` +
        `${styles[each.at]!.dash.length === 0 ? '' : ` stroke-dasharray="${styles[each.at]!.dash.join(' ')}"`}/>` +
        `${each.rows.map(row => `<circle cx="${px(x(row.multiple))}" cy="${px(y(row.ofCapacity))}" r="5"/>`).join('')}</g>`,
    ),
    ...labels.map(
      label =>
        `<text class="name arm${label.at}" x="${plot.right + 18}" y="${px(label.y + 5)}">${escapeText(label.text)}</text>`,
    ),
    `<text class="tick" x="${(plot.left + plot.right) / 2}" y="${plot.bottom + 54}" text-anchor="middle">offered load, multiples of the capacity; dotted: the ideal for the measured cost of a shed</text>`,
    '</svg>\n',
  ].join('\n')
}

function styleSheet(styles: readonly ArmStyle[]): string {
  const colours = (theme: 'light' | 'dark'): string =>
    styles.map((each, at) => `.arm${at}{fill:${each[theme]};stroke:${each[theme]}}`).join('')
  return [
    '<style>',
    'text{font-family:system-ui,-apple-system,"Segoe UI",Arial,sans-serif;font-size:14px;stroke:none!important}',
    '.title{font-size:20px;font-weight:650}.name{font-size:16px;font-weight:650}',
    '.line{fill:none;stroke-width:3;stroke-linejoin:round}.ideal{fill:none;stroke-width:2;stroke-dasharray:2 6;stroke-linecap:round}',
    '.paper{fill:#fff}.title{fill:#16181d}.tick{fill:#5b6270}.grid{stroke:#e6e8ec}.ideal{stroke:#7b8290}',
    colours('light'),
    '@media (prefers-color-scheme:dark){.paper{fill:#12151b}.title{fill:#f2f4f8}.tick{fill:#a3abb9}.grid{stroke:#262b35}.ideal{stroke:#8d95a3}',
    colours('dark'),
    '}</style>',
  ].join('')
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10)
}
