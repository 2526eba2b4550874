/** The verdicts of bench/npm-verdicts.ts, as a page. Pure. */
import { formatPercent, formatRate } from '../../packages/lab/src/report/format.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'
import { measuredOn } from './page-table.ts'

export interface ArmVerdict {
  /** Requests per second that were answered within a second, measured by vegeta. */
  readonly vegeta: number
  /** Share of the possible goodput that was answered within a second. */
  readonly melt: number
  readonly says: string
}

/** `none` where melt gave no verdict. */
export type Outcome = 'right' | 'wrong' | 'none'

export interface AppVerdict extends Conditions {
  /** Name of the app's folder in apps/. */
  readonly name: string
  readonly app: string
  readonly request: string
  /** The tool of the closed loop, such as `wrk 4.1.0`. */
  readonly tool: string
  /** Users of the closed loop, alternating. */
  readonly users: readonly number[]
  /** Answers per second: minimum and maximum of several runs. */
  readonly closedLoop: readonly [number, number]
  readonly melt: number
  readonly bare: ArmVerdict
  readonly protected: ArmVerdict
  readonly finding: string
  readonly outcome: Outcome
  /** A handwritten observation. */
  readonly note?: string
}

export interface NpmVerdicts {
  readonly load: number
  readonly apps: readonly AppVerdict[]
}

/**
 * Returns the handwritten notes by app.
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

const SAID = { right: 'yes', wrong: '**no**', none: 'no verdict' } as const

export function verdictsPage({ apps, load }: NpmVerdicts): string {
  const of = ({ says, melt, vegeta }: ArmVerdict): string =>
    `${says} (${formatPercent(melt)}; vegeta ${formatRate(vegeta)}/s)`
  const columns = ['app', 'request', 'closed loop', 'melt', 'bare', 'protected', 'right', 'by eye']
  const rows = apps.map(each => [
    ...[
      each.app,
      `\`${each.request}\``,
      `${each.closedLoop.map(formatRate).join(' to ')}/s, ${each.tool}, ${each.users.join(' or ')} users`,
      `${formatRate(each.melt)}/s`,
    ],
    ...[of(each.bare), of(each.protected), SAID[each.outcome], each.note ?? 'not looked at'],
  ])
  return `# Verdicts of melt on apps of npm

Made by \`node bench/npm-verdicts.ts\`. Capacity: the least and the most of eight closed loops of another tool, with these numbers
of users in turns, beside melt's search. Each arm: what melt says, and in brackets the share of the capacity that it answered
within a second at ${load}x, beside the answers within a second that vegeta counted. Melt is right if its capacity is in the other
tool's range, give or take a tenth, and melted, sagged or held is also what vegeta's count is of a capacity in that range.

${markdownTable(columns, rows)}

${apps.map(each => `- ${each.app}: ${measuredOn(each)}.`).join('\n')}
`
}
