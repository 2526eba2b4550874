/** The pictures of docs/admission.md: strings of SVG that follow the reader's light or dark theme. Pure. */
import { escapeText } from '../../packages/lab/src/report/escape.ts'
import type { Cell, Trace } from './admission-compare.ts'
import type { Sweep } from './admission-sweep.ts'

/** Okabe and Ito's colours, light and dark; the limiter meltproof ships is the only thick line. */
const COLOURS: readonly (readonly [light: string, dark: string])[] = [
  ['#0072b2', '#56b4e9'],
  ['#8a5a9e', '#d7a3e0'],
  ['#00795a', '#2fc79b'],
  ['#c44e00', '#ff8a3d'],
  ['#8a6d00', '#f0c53b'],
  ['#a3245c', '#f58ab8'],
  ['#4a5a2a', '#a9c46c'],
  ['#5b6270', '#a3abb9'],
  ['#16181d', '#f2f4f8'],
]

function frame(width: number, height: number, title: string, parts: readonly string[], styles = ''): string {
  const colours = (theme: 0 | 1): string =>
    COLOURS.map((pair, at) => `.l${at}{stroke:${pair[theme]}}.t${at}{fill:${pair[theme]}}`).join('')
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">`,
    `<title id="title">${escapeText(title)}</title>`,
    '<style>',
    'text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:12px;fill:#16181d}',
    '.title{font-size:18px;font-weight:650}.name{font-size:13px;font-weight:650}.tick{fill:#5b6270;font-size:11px}',
    '.line{fill:none;stroke-width:1.6;stroke-linejoin:round}.main{stroke-width:4}.grid{stroke:#e6e8ec}.axis{stroke:#9aa1ad}',
    '.ring{fill:none;stroke:#16181d;stroke-width:1.6}.paper{fill:#fff}.soft{fill:#f3f4f6}',
    '.g0{fill:#dff1e6}.g1{fill:#f7f1cf}.g2{fill:#fbdcc0}.g3{fill:#f4b3a4}',
    colours(0),
    styles,
    '@media (prefers-color-scheme:dark){text{fill:#f2f4f8}.tick{fill:#a3abb9}.grid{stroke:#262b35}.axis{stroke:#5b6372}',
    '.ring{stroke:#f2f4f8}.paper{fill:#12151b}.soft{fill:#1a1f28}',
    '.g0{fill:#163b2a}.g1{fill:#3d3916}.g2{fill:#51331a}.g3{fill:#5e2420}',
    colours(1),
    '}</style>',
    `<rect class="paper" width="${width}" height="${height}" rx="12"/>`,
    `<text class="title" x="24" y="34">${escapeText(title)}</text>`,
    ...parts,
    '</svg>',
  ]
    .join('\n')
    .concat('\n')
}

const px = (value: number): string => String(Math.round(value * 10) / 10)
const percent = (share: number, digits = 0): string => `${(100 * share).toFixed(digits)}`

/** Every limiter in every scenario, coloured by how far from right it is. */
export function heatMap(cells: readonly Cell[]): string {
  const limiters = [...new Set(cells.map(cell => cell.limiter))]
  const scenarios = [...new Set(cells.map(cell => cell.scenario))]
  const [left, top, w, h] = [352, 92, 106, 20]
  const parts: string[] = []
  limiters.forEach((limiter, i) => {
    parts.push(
      `<text class="name" x="${left + i * w + w / 2}" y="${top - 10}" text-anchor="middle">${escapeText(limiter)}</text>`,
    )
  })
  scenarios.forEach((name, j) => {
    const y = top + j * h
    parts.push(`<text x="${left - 12}" y="${y + 14}" text-anchor="end">${escapeText(name)}</text>`)
    limiters.forEach((limiter, i) => {
      const cell = cells.find(each => each.limiter === limiter && each.scenario === name)!
      const text = cell.noShed
        ? `${percent(cell.worstShed, cell.worstShed >= 0.0995 ? 0 : 2)} % shed`
        : percent(cell.worstShare)
      parts.push(
        `<rect class="g${grade(cell)}" x="${left + i * w + 1}" y="${y + 1}" width="${w - 2}" height="${h - 2}" rx="3"/>`,
        `<text x="${left + i * w + w / 2}" y="${y + 14}" text-anchor="middle">${text}</text>`,
      )
    })
  })
  parts.push(
    `<text class="tick" x="24" y="58">Goodput in per cent of the ideal, or the share shed where capacity suffices (right: 0). Worst seed of each.</text>`,
  )
  return frame(
    left + limiters.length * w + 24,
    top + scenarios.length * h + 24,
    'Every limit limiter in every scenario',
    parts,
  )
}

/** 0 right, 1 passable, 2 bad, 3 a failure. */
function grade(cell: Cell): number {
  const bad = cell.noShed ? [0.001, 0.01, 0.1] : [0.05, 0.1, 0.3]
  const off = cell.noShed ? cell.worstShed : 1 - cell.worstShare
  return bad.filter(each => off >= each).length
}

interface Panel {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

/** A panel with lines over an ordinal axis. `at` answers 0..1 for a value; values outside are cut. */
function panel(
  { x, y, w, h }: Panel,
  title: string,
  labels: readonly string[],
  ticks: readonly (readonly [at: number, label: string])[],
  lines: readonly { readonly style: string; readonly at: readonly number[] }[],
): string {
  const cx = (i: number): number => x + (labels.length === 1 ? w / 2 : (i * w) / (labels.length - 1))
  const cy = (at: number): number => y + h - h * Math.min(1.02, Math.max(0, at))
  return [
    `<text class="name" x="${x}" y="${y - 10}">${escapeText(title)}</text>`,
    ...ticks.map(
      ([at, label]) =>
        `<line class="grid" x1="${x}" x2="${x + w}" y1="${px(cy(at))}" y2="${px(cy(at))}"/>` +
        `<text class="tick" x="${x - 6}" y="${px(cy(at) + 4)}" text-anchor="end">${label}</text>`,
    ),
    `<line class="axis" x1="${x}" x2="${x + w}" y1="${y + h}" y2="${y + h}"/>`,
    ...labels.map((label, i) =>
      label === '' ? '' : `<text class="tick" x="${px(cx(i))}" y="${y + h + 15}" text-anchor="middle">${label}</text>`,
    ),
    ...lines.map(
      ({ style, at }) =>
        `<polyline class="line ${style}" points="${at.map((each, i) => `${px(cx(i))},${px(cy(each))}`).join(' ')}"/>`,
    ),
  ].join('\n')
}

function legend(limiters: readonly string[], x: number, y: number): string[] {
  return limiters.map(
    (limiter, i) =>
      `<line class="line l${i}${i === 0 ? ' main' : ''}" x1="${x}" x2="${x + 22}" y1="${y + i * 20}" y2="${y + i * 20}"/>` +
      `<text class="t${i}" x="${x + 28}" y="${y + i * 20 + 4}">${escapeText(limiter)}</text>`,
  )
}

/** Goodput and p99 against load, for a core and for a pool. */
export function loadCurves(cells: readonly Cell[]): string {
  const limiters = [...new Set(cells.map(cell => cell.limiter))]
  const loads = ['1.1', '1.25', '1.5', '2', '3', '10']
  const find = (limiter: string, what: string, load: string): Cell =>
    cells.find(cell => cell.limiter === limiter && cell.scenario === `${what} at ${load}x`)!
  const log = (ms: number): number => Math.log10(Math.max(10, ms) / 10) / 3
  const parts = ['cpu', 'pool'].flatMap((what, column) => {
    const x = 70 + column * 400
    const labels = loads.map(load => `${load}x`)
    const lines = (of: (cell: Cell) => number): { style: string; at: number[] }[] =>
      limiters
        .map((limiter, i) => ({
          style: `l${i}${i === 0 ? ' main' : ''}`,
          at: loads.map(load => of(find(limiter, what, load))),
        }))
        .reverse()
    const subject = what === 'cpu' ? '5 ms of CPU' : '50 ms in a pool of ten'
    return [
      panel(
        { x, y: 90, w: 330, h: 170 },
        `${subject}: goodput, worst seed, %`,
        labels,
        [0, 0.25, 0.5, 0.75, 1].map(at => [at / 1.05, percent(at)] as const),
        lines(cell => cell.worstShare / 1.05),
      ),
      panel(
        { x, y: 320, w: 330, h: 170 },
        `${subject}: p99 of those admitted`,
        labels,
        [
          [0, '10 ms'],
          [1 / 3, '100 ms'],
          [2 / 3, '1 s'],
          [1, '10 s'],
        ],
        lines(cell => log(cell.p99Ms)),
      ),
    ]
  })
  return frame(980, 540, 'Goodput and latency against load, as multiples of capacity', [
    ...parts,
    ...legend(limiters, 840, 100),
  ])
}

/** The limit over time, a panel for each limiter. */
export function limitTraces(all: readonly Trace[], title: string, knee: number): string {
  const log = (limit: number): number => Math.log10(Math.max(1, limit)) / 4
  const parts = all.map(({ limiter, limit }, i) =>
    panel(
      { x: 60 + (i % 3) * 300, y: 90 + Math.floor(i / 3) * 170, w: 240, h: 100 },
      limiter,
      limit.map((_, s) => (s % 10 === 0 ? `${s} s` : '')),
      [1, 10, 100, 1000, 10_000].map(each => [log(each), String(each)] as const),
      [
        { style: 'l7', at: limit.map(() => log(knee)) },
        { style: i === 0 ? 'l0 main' : 'l0', at: limit.map(log) },
      ],
    ),
  )
  return frame(960, 110 + Math.ceil(all.length / 3) * 170, title, parts)
}

/** One small panel for each constant: worst goodput, false sheds and p99 against its value; a ring at what ships. */
export function sweepPanels(sweeps: readonly Sweep[], title: string): string {
  const parts = sweeps.map((each, i) => {
    const where = { x: 60 + (i % 4) * 245, y: 120 + Math.floor(i / 4) * 170, w: 180, h: 90 }
    const shipped = each.points.findIndex(point => point.value === each.shipped)
    const cx = where.x + (shipped * where.w) / (each.points.length - 1)
    const goodput = (share: number): number => (share - 0.5) / 0.5
    return [
      panel(
        where,
        each.name,
        each.points.map(point => (point.value >= 10_000 ? `${point.value / 1000}k` : String(point.value))),
        [
          [0, '50'],
          [0.5, '75'],
          [1, '100'],
        ],
        [
          { style: 'l7', at: each.points.map(point => point.p99Ms / 500) },
          { style: 'l3', at: each.points.map(point => point.falseShed / 0.05) },
          { style: 'l0 main', at: each.points.map(point => goodput(point.worst)) },
        ],
      ),
      shipped < 0
        ? ''
        : `<circle class="ring" cx="${px(cx)}" cy="${px(where.y + where.h - where.h * Math.min(1, Math.max(0, goodput(each.points[shipped]!.worst))))}" r="7"/>`,
    ].join('\n')
  })
  const key = [
    ['l0 main', 't0', 'worst goodput, % of ideal (axis)'],
    ['l3', 't3', 'worst false sheds (full height: 5 %)'],
    ['l7', 't7', 'p99 at 10x (full height: 500 ms)'],
  ].map(
    ([line, text, label], i) =>
      `<line class="line ${line}" x1="${24 + i * 290}" x2="${50 + i * 290}" y1="62" y2="62"/><text class="${text}" x="${58 + i * 290}" y="66">${label}</text>`,
  )
  return frame(1040, 140 + Math.ceil(sweeps.length / 4) * 170, title, [...key, ...parts])
}
