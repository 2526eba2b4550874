/** docs/scoreboard.md: the scoreboard in words, tables and pictures. Pure. */
import { formatMs, formatMultiple, formatPercent, formatRate } from '../../packages/lab/src/report/format.ts'
import type { Machine } from '../../packages/lab/src/launch/machine.ts'
import type { Capacity, MeltMeasured, MeltSetup, Row, StepResult } from '../../packages/lab/src/melt/measured.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { ScenarioArm } from '../../packages/lab/src/report/result.ts'
import type { Subject } from './measure.ts'
import type { ShedCost, SuiteCapacity } from './store.ts'

/** As bench/results/overload.json keeps it. */
export interface SuiteResult {
  readonly kind: 'melt'
  readonly version: 1
  readonly name: string
  readonly startedAt: string
  readonly elapsedMs: number
  readonly incomplete: boolean
  readonly certified: boolean
  readonly why: readonly string[]
  readonly conditions: Machine &
    MeltSetup &
    Pick<SuiteCapacity, 'pinning' | 'busyBefore'> & {
      readonly commandLine: string
      /** The commit of this repository. */
      readonly labVersion: string
      readonly spinPerMs: MeltMeasured['spinPerMs']
    }
  readonly capacity: Capacity
  readonly arms: readonly (Pick<ScenarioArm, 'name' | 'kind'> & {
    readonly command: string
    readonly nodeOptions: null
  })[]
  readonly steps: readonly StepResult[]
  readonly rows: readonly Row[]
}

export interface Suite {
  readonly name: string
  readonly subject: Subject
  /** All that the lab's tables and pictures are drawn from. */
  readonly result: SuiteResult
  /** Of the second route of a workload that has one, arm by arm and load by load. */
  readonly beside: readonly Row[]
  readonly idealAt: (multiple: number) => number
  /** Best possible share of the capacity at each load. */
  readonly ideal: Readonly<Record<number, number>>
}

export interface Scoreboard {
  readonly shedCost: ShedCost | undefined
  readonly suites: readonly Suite[]
}

/** DESIGN.md's bars that this scoreboard measures. */
const WORST_LOADS = [10, 100]

export function pageOf(board: Scoreboard): string {
  const { shedCost, suites } = board
  return `# Scoreboard

Written by \`npm run bench:overload\` (\`bench/overload/\`) from \`bench/results/overload.json\`; not by hand. The same work
behind nothing (bare), toobusy-js, overload-protection, @fastify/under-pressure (100 ms of event loop delay; a Fastify
app) and meltproof, each with its own README's set-up and no tuning. Open loop, Poisson arrivals, every cell from a cold
start; the load is multiples of the bare app's measured capacity. *Goodput*: 2xx answers within 1 s of the time the
request was due. *Of capacity* is goodput over capacity, and *ideal* what is left when every request too many is told so at
once: above the capacity (1 - k r/S) / (1 - r/S), where S is the service time (1 / capacity) and r the cost of one shed.
That cost is measured at one rate; in larger batches a shed is cheaper, so a figure can lie above its ideal. Where the
work is done elsewhere (the pools), sheds use a core that would idle, and the ideal is all of it.

${
  shedCost === undefined
    ? ''
    : `r measured on ${shedCost.measuredAt.slice(0, 10)} (\`bench/shed-cost.ts\`, median of ${shedCost.rounds}): ${shedCost.us.standing.toFixed(1)} us with
standing connections, ${shedCost.us.fresh.toFixed(1)} us with a connection per request.
Suites that were measured before keep the ideal of the r of their day.`
}

## Goodput kept

Share of the capacity at each load; the ideal beside it.

${overview(suites)}

${suites.map(chapter).join('\n')}`
}

function overview(suites: readonly Suite[]): string {
  const arms = [...new Set(suites.flatMap(({ result }) => result.arms.map(arm => arm.name)))]
  const rows = suites.flatMap(({ name, subject, beside, ideal, result: { rows: measured } }) => {
    const { title, countsBeside } = subject.workload
    const loads = [...new Set(measured.map(row => row.multiple))]
    const shown = loads.filter(load => WORST_LOADS.includes(load))
    return (shown.length > 0 ? shown : loads.slice(-1)).map(load => {
      const kept = arms.map(arm => {
        const of = (rows: readonly Row[]): Row | undefined =>
          rows.find(each => each.arm === arm && each.multiple === load)
        const other = of(beside)
        return countsBeside ? other && other.goodput / other.offered : of(measured)?.ofCapacity
      })
      const shares = [...kept, countsBeside ? 1 : ideal[load]].map(share => (share === undefined ? '' : percent(share)))
      const what = countsBeside ? `${title}, the route beside it` : title
      return [`[${what}, ${subject.mode}](#${name})`, formatMultiple(load), ...shares]
    })
  })
  return markdownTable(['workload', 'load', ...arms, 'ideal'], rows)
}

function chapter(suite: Suite): string {
  const { name, subject, result, beside } = suite
  const { capacity, conditions } = result
  const loads = new Set(result.rows.map(row => row.multiple))
  const after = capacity.after === null ? 'not measured again' : `${formatRate(capacity.after)}/s after`
  const rounds = [...new Set(result.rows.map(row => row.rounds))].sort((a, b) => a - b).join(' to ')
  return `<a id="${name}"></a>
## ${subject.workload.title}, ${conditions.connections}

${subject.workload.story} Capacity ${formatRate(capacity.before)}/s before, ${after}. ${rounds === '1' ? '1 round' : `Medians of ${rounds} rounds`} of
${conditions.durationMs / 1000} s, the first second not counted. ${result.startedAt.slice(0, 16).replace('T', ' ')} UTC, commit ${conditions.labVersion}, Node ${conditions.node}, ${conditions.cores} cores
of ${conditions.cpu}.
${loads.size > 1 && !subject.workload.countsBeside ? `\n![goodput against offered load](images/overload-${name}.svg)\n` : ''}
${tableOf(suite)}
${beside.length === 0 ? '' : `\nThe route beside it:\n\n${besideTable(beside)}\n`}
${doubts(suite)}
`
}

function tableOf({ result, ideal }: Suite): string {
  const columns =
    'arm,load,offered/s,goodput/s,of capacity,ideal,admitted p50,admitted p99,shed/s,shed,shed p99,longest,errors,rounds,certified'
  const rows = result.rows.map(row => [
    row.arm,
    formatMultiple(row.multiple),
    formatRate(row.offered),
    formatRate(row.goodput),
    percent(row.ofCapacity),
    percent(ideal[row.multiple]!),
    formatMs(row.admittedMs.p50),
    formatMs(row.admittedMs.p99),
    formatRate(row.shed),
    row.offered === 0 ? '–' : percent(row.shed / row.offered, 2),
    formatMs(row.shedMs.p99),
    formatMs(row.longestAnswerMs),
    String(Math.round(row.errors)),
    String(row.rounds),
    certified(result.steps.filter(step => step.arm === row.arm && step.multiple === row.multiple)),
  ])
  return markdownTable(columns.split(','), rows)
}

function besideTable(rows: readonly Row[]): string {
  return markdownTable(
    ['arm', 'load of the heavy route', 'offered/s', 'goodput/s', 'kept', 'p99'],
    rows.map(row => [
      row.arm,
      formatMultiple(row.multiple),
      formatRate(row.offered),
      formatRate(row.goodput),
      percent(row.goodput / row.offered),
      formatMs(row.admittedMs.p99),
    ]),
  )
}

/** The lab's own word on each round: was the generator late or the bottleneck, did somebody else use the core? */
function certified(steps: readonly StepResult[]): string {
  const sure = steps.filter(step => step.generator.certified).length
  return sure === steps.length ? 'yes' : `${sure} of ${steps.length}`
}

function doubts({ result }: Suite): string {
  if (result.certified) return 'Certified: the generator was never late, the cores were ours and the capacity steady.'
  const shown = result.why.map(reason => `- ${reason.length > 300 ? `${reason.slice(0, 299)}…` : reason}`)
  return `<details><summary>What the lab doubts about this run</summary>\n\n${shown.join('\n')}\n\n</details>`
}

function percent(share: number, digits = 0): string {
  return digits === 0 ? formatPercent(share) : `${(share * 100).toFixed(digits)} %`
}
