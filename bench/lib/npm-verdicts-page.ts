/** The verdicts of bench/npm-verdicts.ts, as a page. Pure. */
import { formatPercent, formatRate } from '../../packages/lab/src/report/format.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'
import { measuredOn } from './page-table.ts'

export interface ArmVerdict {
  /** Share of what is possible that was answered within a second: as vegeta saw it, and as melt says. */
  readonly vegeta: number
  readonly melt: number
  readonly says: string
}

export interface AppVerdict extends Conditions {
  /** The folder of apps/. */
  readonly name: string
  readonly app: string
  readonly request: string
  /** The tool of the closed loop, such as `wrk 4.1.0`. */
  readonly tool: string
  /** Answers a second. */
  readonly closedLoop: number
  readonly melt: number
  readonly bare: ArmVerdict
  readonly protected: ArmVerdict
  readonly finding: string
  readonly right: boolean
  /** What was seen by eye. */
  readonly note?: string
}

export interface NpmVerdicts {
  readonly load: number
  readonly apps: readonly AppVerdict[]
}

/**
 * The sentences by app.
 * @param notes such as `nestjs: it stood still at 4x`
 * @throws Error for an app without a verdict
 */
export function notesOf(notes: readonly string[], known: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    notes.map(note => {
      const [, name, text] = /^([\w-]+): *(\S.*)$/s.exec(note) ?? []
      if (name === undefined || text === undefined) throw new Error(`--note must be 'app: text', got '${note}'`)
      if (!known.includes(name)) throw new Error(`--note names ${name}, which has no verdict`)
      return [name, text]
    }),
  )
}

export function verdictsPage({ apps, load }: NpmVerdicts): string {
  const of = ({ says, melt, vegeta }: ArmVerdict): string =>
    `${says} (${formatPercent(melt)}; vegeta ${formatPercent(vegeta)})`
  const columns = ['app', 'request', 'closed loop', 'melt', 'bare', 'protected', 'right', 'by eye']
  const rows = apps.map(each => [
    ...[
      each.app,
      `\`${each.request}\``,
      `${formatRate(each.closedLoop)}/s, ${each.tool}`,
      `${formatRate(each.melt)}/s`,
    ],
    ...[of(each.bare), of(each.protected), each.right ? 'yes' : '**no**', each.note ?? 'not looked at'],
  ])
  return `# Verdicts of melt on apps of npm

Made by \`node bench/npm-verdicts.ts\`. Capacity: the closed loop of another tool beside melt's search. Each arm: what melt says,
and in brackets the share of the capacity answered within a second at ${load}x, as melt and as vegeta measured it.

${markdownTable(columns, rows)}

${apps.map(each => `- ${each.app}: ${measuredOn(each)}.`).join('\n')}
`
}
