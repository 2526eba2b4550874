/** The plots as SVG. In a page they use its colours; a separate picture follows the reader's theme. Pure. */
import { escapeText } from './escape.ts'
import { bars } from './plot-bars.ts'
import { lines } from './plot-lines.ts'
import { panels } from './plot-panels.ts'
import { points } from './plot-points.ts'
import { type Drawn, type Frame, NARROW, styled, type Styled, text, WIDE } from './plot-parts.ts'
import type { Plot, ScenarioArm } from './result.ts'
import { wrapWords } from './wrap-words.ts'

/** Characters per line that fit in any sans-serif font, and the distance between lines, px. */
const headlineLength = 72
const headlineGap = 26

/** A plot for the page, without its own colours, in a wide and a narrow form; the style sheet selects one. */
export function plotSvg(drawn: Plot, arms: readonly ScenarioArm[], places: readonly ('wide' | 'narrow')[]): string {
  return places
    .map(place => {
      const frame = place === 'wide' ? WIDE : NARROW
      const { inner, height } = body(drawn, styled(arms), frame)
      const only = places.length === 1 ? '' : ` only-${place}`
      return svg(drawn.title, inner, [frame.width, height], ` class="drawn${only}"`)
    })
    .join('')
}

export function pictureSvg(drawn: Plot, arms: readonly ScenarioArm[], headline: string): string {
  const words = wrapWords(headline, headlineLength)
  const below = 40 + headlineGap * words.length
  const room = below + 6
  const plot = body(drawn, styled(arms), WIDE)
  const height = room + plot.height
  const inner = [
    `<rect class="paper" width="${WIDE.width}" height="${Math.ceil(height)}" rx="12"/>`,
    ...words.map((line, at) => text('title', 28, 40 + headlineGap * at, line)),
    text('tick', 28, below + 2, drawn.title),
    `<g transform="translate(0 ${room})">${plot.inner}</g>`,
  ]
  const size = ` class="drawn" width="${WIDE.width}" height="${Math.ceil(height)}"`
  return svg(headline, `${styleOf(arms)}${inner.join('')}`, [WIDE.width, height], size)
}

export function emptySvg(words: string): string {
  const inner = `<text x="28" y="46" font-family="system-ui,sans-serif" font-size="20">${escapeText(words)}</text>`
  return svg(words, inner, [WIDE.width, 80], ` width="${WIDE.width}" height="80"`)
}

function svg(title: string, inner: string, [width, height]: readonly [number, number], attributes: string): string {
  const box = `viewBox="0 0 ${width} ${Math.ceil(height)}"`
  return `<svg xmlns="http://www.w3.org/2000/svg"${attributes} ${box} role="img" aria-label="${escapeText(title)}"><title>${escapeText(title)}</title>${inner}</svg>\n`
}

function body(drawn: Plot, arms: readonly Styled[], frame: Frame): Drawn {
  if (drawn.kind === 'panels') return panels(drawn, arms, frame)
  if (drawn.kind === 'points') return points(drawn, arms, frame)
  return drawn.kind === 'lines' ? lines(drawn, arms, frame) : bars(drawn, arms, frame)
}

function styleOf(arms: readonly ScenarioArm[]): string {
  const colours = (theme: 'light' | 'dark'): string =>
    styled(arms)
      .map(arm => `.${arm.className}{fill:${arm.style[theme]};stroke:${arm.style[theme]}}`)
      .join('')
  const paper = (colour: string): string => `.paper{fill:${colour}}text.over{stroke:${colour}}`
  return [
    '<style>',
    'text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;font-size:14px}text:not(.over){stroke:none}',
    '.over{paint-order:stroke;stroke-width:5px;stroke-linejoin:round}',
    '.title{font-size:20px;font-weight:650}.name{font-size:15px;font-weight:650}.strong{font-weight:650}.value{font-weight:600;font-size:13px}',
    '.line{fill:none;stroke-width:3;stroke-linejoin:round;stroke-linecap:round}.level{stroke-width:1.5;stroke-dasharray:6 5}.ideal{fill:none;stroke-width:2;stroke-dasharray:2 6;stroke-linecap:round}',
    '.title,.strong,.value{fill:#16181d}.tick{fill:#5b6270}.grid{stroke:#e6e8ec}.axis{stroke:#9aa1ad}.level,.ideal{stroke:#6a7180}',
    paper('#fff'),
    colours('light'),
    '@media (prefers-color-scheme:dark){',
    '.title,.strong,.value{fill:#f2f4f8}.tick{fill:#a3abb9}.grid{stroke:#262b35}.axis{stroke:#5b6372}.level,.ideal{stroke:#9aa2b0}',
    paper('#12151b'),
    colours('dark'),
    '}</style>',
  ].join('')
}
