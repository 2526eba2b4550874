/** The terminal output of a scenario: figures first, verdict last. Pure. */
import type { ScenarioResult, Standing, Verdict } from './result.ts'
import { SIGNS } from './standing.ts'
import { tableText } from './text-table.ts'
import { wrapWords } from './wrap-words.ts'

/** Colours text for a terminal; for other output it returns the text unchanged. */
export type Paint = (style: 'bold' | 'dim' | 'green' | 'yellow' | 'red', text: string) => string

const TONES = { good: 'green', fair: 'yellow', bad: 'red', none: 'dim' } as const
/** The terminal shows at most this many lines of the first reason; the report has all reasons. */
const MOST_LINES = 3

/** `width` in columns. */
export function scenarioText(
  result: ScenarioResult,
  { width = 80, paint = (_, text) => text }: { readonly width?: number; readonly paint?: Paint } = {},
): string {
  const parts = result.tables.map(table => tableText(table, width))
  for (const { title, text } of result.printouts ?? []) parts.push(`${title}\n${text.trimEnd().replace(/^/gm, '  ')}`)
  if (result.verdicts.length > 0) {
    parts.push(['Expected:', ...result.verdicts.flatMap(verdict => expected(verdict, width, paint))].join('\n'))
  }
  if (!result.certified) parts.push(doubts(result, width, paint))
  parts.push(wrapWords(result.finding, width).join('\n'))
  const { standings = [] } = result
  if (standings.length > 0) parts.push(strip(standings, width, paint))
  return parts.join('\n\n')
}

const VERDICTS = {
  pass: ['green', 'pass'],
  fail: ['red', 'FAIL'],
  'not judged': ['dim', '  - '],
} as const

function expected({ name, verdict, measured }: Verdict, width: number, paint: Paint): string[] {
  const [style, sign] = VERDICTS[verdict]
  const [first, ...rest] = wrapWords(name, width - 8)
  const words = wrapWords(`${verdict === 'not judged' ? 'not judged: ' : ''}${measured}`, width - 10)
  return [
    `  ${paint(style, sign)}  ${first}`,
    ...rest.map(line => `        ${line}`),
    ...words.map(line => paint('dim', `          ${line}`)),
  ]
}

function doubts({ incomplete, why }: ScenarioResult, width: number, paint: Paint): string {
  const title = incomplete ? 'INCOMPLETE: the run ended early.\nNot certified:' : 'Not certified:'
  const lines = wrapWords(why[0] ?? '', width - 5)
  const gist = lines.length > MOST_LINES ? `${lines.slice(0, MOST_LINES).join('\n    ')}…` : lines.join('\n    ')
  const more = why.length > 1 ? `\n    (${why.length - 1} more in the report)` : ''
  return `${paint('yellow', title)}\n  - ${gist}${more}`
}

/** One line for each arm, or two on a narrow terminal. */
function strip(standings: readonly Standing[], width: number, paint: Paint): string {
  const widest = (of: (standing: Standing) => string): number => Math.max(...standings.map(each => of(each).length))
  const [arm, says, figure, of] = (['arm', 'says', 'figure', 'of'] as const).map(field => widest(each => each[field]))
  const inOneLine = arm! + says! + figure! + of! + 8 <= width
  return standings
    .map(each => {
      const verdict = paint(TONES[each.tone], `${SIGNS[each.tone]} ${each.says.padEnd(says!)}`)
      const line = `${paint('bold', each.arm.padEnd(arm!))}  ${verdict}`
      const figures = `${paint('bold', each.figure.padStart(inOneLine ? figure! : 0))} ${each.of}`
      return inOneLine ? `${line}  ${figures}` : `${line.trimEnd()}\n${' '.repeat(arm! + 4)}${figures}`
    })
    .join('\n')
}
