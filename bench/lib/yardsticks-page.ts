/** Makes docs/admission-yardsticks.md and the output of bench/admission-held-out.ts. Pure. */
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import { FINAL } from './admission-sets.ts'
import type { Conditions } from './conditions.ts'
import { percent, RULES, summaryOf, type Yardstick } from './yardsticks.ts'

export interface YardstickResult extends Conditions {
  readonly seeds: readonly number[]
  readonly yardsticks: readonly Yardstick[]
}

/** Maximum number of scenarios that break a rule in the list of the page. */
const LISTED = 60

export function summaryTable(yardsticks: readonly Yardstick[]): string {
  const groups = [...Map.groupBy(yardsticks, ({ limiter, set }) => `${limiter} ${set}`).values()]
  const rows = groups
    .map(summaryOf)
    .map(({ limiter, set, scarce, ample, mean, worst, below, late, breaking }) => [
      limiter,
      set,
      worst === undefined ? '-' : `${percent(mean)} of ${scarce}`,
      worst === undefined ? '-' : `${percent(worst.measured.good)} (${worst.name})`,
      String(below),
      `${breaking['false sheds']} of ${ample}`,
      worst === undefined ? '-' : percent(late),
      ...RULES.slice(1).map(rule => String(breaking[rule])),
    ])
  return markdownTable(
    [
      ...['limiter', 'scenarios', 'goodput, mean of the ideal', 'worst', 'below 75 %', 'false sheds in'],
      ...['most late', ...RULES.slice(1).map(rule => `break "${rule}"`)],
    ],
    rows,
  )
}

export function scenarioTable(yardsticks: readonly Yardstick[], withLimiter: boolean): string {
  return markdownTable(
    [
      ...(withLimiter ? ['limiter'] : []),
      ...[
        'scenario',
        'set',
        'goodput',
        'bare',
        'late',
        'bare',
        'shed',
        'in service',
        'contending',
        'left in 1 s',
        'breaks',
      ],
    ],
    yardsticks.map(({ limiter, set, name, noShed, measured, bare, broken, bareMore }) => [
      ...(withLimiter ? [limiter] : []),
      noShed ? `${name} (no request may be shed)` : name,
      set,
      percent(measured.good),
      percent(bare.good),
      percent(measured.late),
      percent(bare.late),
      percent(measured.shed),
      ...[measured.mostInService, measured.mostContending, measured.mostLeft].map(String),
      [...broken, ...(bareMore > 0.02 ? ['(bare: more in time, too many late)'] : [])].join(', '),
    ]),
  )
}

export function yardsticksPage({ date, node, cores, cpu, seeds, yardsticks }: YardstickResult): string {
  const breaking = yardsticks.filter(({ broken }) => broken.length > 0)
  const shown = breaking.filter(({ set }) => set !== FINAL)
  const listed = [...shown].sort((a, b) => b.broken.length - a.broken.length).slice(0, LISTED)
  const limiters = new Set(yardsticks.map(({ limiter }) => limiter))
  return `# Yardsticks of admission

Written by \`node bench/admission-held-out.ts --write\` from \`bench/results/admission-yardsticks.json\`; not by hand. ${date},
Node ${node}, ${cores} cores of ${cpu}; virtual time, seeds ${seeds.join(', ')}.

Every scenario runs behind the limiter and bare, with the same seeds. Goodput is a share of the ideal. An answer is late if
other requests delay it beyond the promise of 1 s; a request that is never answered is late too. Four rules hold for
every scenario; \`bench/lib/yardsticks.ts\` gives the reasons.

- **false sheds**: where no request may be shed, at most 0.2 % are.
- **late**: at most 3 % of the offered requests is answered late; where no request may be shed, at most 2 points more than bare.
- **in service**: at most twice as many requests contend (for the core, a connection, a lock) as left in the best second.
- **below bare**: goodput and requests answered in their own time are at most 2 points below bare, wherever no request may be
  shed or bare keeps the rule for late answers.

## Sets

${summaryTable(yardsticks)}

## Scenarios that break a rule

${breaking.length} of ${yardsticks.length}${shown.length > LISTED ? `; ${LISTED} of them` : ''}. The ${breaking.length - shown.length} of ${FINAL} are not listed.

${listed.length === 0 ? 'None.' : scenarioTable(listed, limiters.size > 1)}
`
}
