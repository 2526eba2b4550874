/** The terminal output of a comparison, within 80 columns. Pure. */
import { formatList, formatMs, formatRate } from '../report/format.ts'
import { wrapWords } from '../report/wrap-words.ts'
import type { Comparison } from './compare.ts'
import type { ComparedFigure } from './comparison.ts'
import { FEWEST } from './trimmed-interval.ts'

const WIDTH = 80

export function comparisonText(comparison: Comparison): string {
  const { a, b, rounds, leftOut, remarks, confidence, figures } = comparison
  const percent = Math.round(confidence * 100)
  const rows = figures.map(figure => [
    figure.name,
    value(figure, figure.a),
    value(figure, figure.b),
    figure.change === null ? '–' : change(figure, figure.change),
    figure.interval === null ? '–' : figure.interval.map(bound => change(figure, bound)).join(' to '),
    VERDICTS[figure.verdict](figure),
  ])
  const columns = ['', 'A', 'B', 'change', `${percent} % sure`, '']
  return [
    `A  ${clipped(a)}`,
    `B  ${clipped(b)}`,
    '',
    ...aligned([columns, ...rows]),
    '',
    ...[
      `${rounds === 1 ? 'One round' : `${rounds} rounds`}${leftOut.length > 0 ? `, ${leftOut.length} left out` : ''}.${rounds < FEWEST ? '' : ' All intervals hold together.'}`,
      ...leftOut.map(each => `Left out: ${each}`),
      ...remarks,
      finding(comparison),
    ].flatMap(text => wrapWords(text, WIDTH)),
    '',
  ].join('\n')
}

const VERDICTS: Readonly<Record<ComparedFigure['verdict'], (figure: ComparedFigure) => string>> = {
  better: () => 'B is better',
  worse: () => 'B is worse',
  'no difference seen': () => 'no difference',
  undecided: figure => `undecided, ${hidden(figure)}`,
  'cannot tell': () => 'cannot tell',
}

function hidden({ unit, hides }: ComparedFigure): string {
  const percent = hides! * 100
  return `±${percent.toFixed(percent < 1 ? 1 : 0)} ${unit === 'share' ? 'pt' : '%'}`
}

export function finding({ figures }: Pick<Comparison, 'figures'>): string {
  const real = (verdict: 'better' | 'worse'): string =>
    figures
      .filter(figure => figure.verdict === verdict)
      .map(figure => `${figure.name} ${change(figure, figure.change!)}`)
      .join(', ')
  const [worse, better] = [real('worse'), real('better')]
  if (worse !== '' && better !== '') return `B is worse in ${worse}; better in ${better}.`
  if (worse !== '') return `B is worse: ${worse}.`
  const coarse = figures.filter(({ verdict }) => verdict === 'undecided')
  const wouldShow = formatList(coarse.map(figure => `${hidden(figure)} of ${figure.name}`))
  const undecided = coarse.length === 0 ? '' : `ndecided: only more than ${wouldShow} would have shown.`
  if (better !== '') return `B is better: ${better}.${undecided && ` Else u${undecided}`}`
  if (undecided !== '') return `U${undecided}`
  const untold = figures.flatMap(({ name, verdict }) => (verdict === 'cannot tell' ? name : []))
  if (untold.length === figures.length) return 'Whether A and B differ is unknown.'
  const told = 'No difference between A and B was found'
  return untold.length === 0 ? `${told}.` : `${told}; for ${formatList(untold)} it is unknown.`
}

function value({ unit }: ComparedFigure, at: number | null): string {
  if (at === null) return '–'
  return unit === 'rate' ? `${formatRate(at)}/s` : unit === 'ms' ? formatMs(at) : `${(at * 100).toFixed(2)} %`
}

function change({ unit }: ComparedFigure, by: number): string {
  const percent = by * 100
  const digits = unit === 'share' ? 2 : Math.abs(percent) < 99.95 ? 1 : 0
  const sign = Number(percent.toFixed(digits)) > 0 ? '+' : ''
  return `${sign}${percent.toFixed(digits).replace(/^-(0\.?0*)$/, '$1')} ${unit === 'share' ? 'pt' : '%'}`
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map(row => row[at]!.length)))
  return rows.map(row =>
    row
      .map((cell, at) => (at === 0 || at === row.length - 1 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join('  ')
      .trimEnd(),
  )
}

/** The end of a path says more than its beginning. */
function clipped(name: string): string {
  const most = WIDTH - 3
  return name.length > most ? `...${name.slice(3 - most)}` : name
}
