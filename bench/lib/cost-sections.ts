/** The sections of docs/costs.md below its table: how each figure was measured, and further figures. Pure. */
import { median } from '../../packages/lab/src/melt/summary.ts'
import { idealShare } from '../../packages/lab/src/scenarios/overload/ideal.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { OverheadCase } from '../overhead.ts'
import type { Conditions } from './conditions.ts'

export interface Overhead extends Conditions {
  readonly rounds: number
  /** Missing in older results. */
  readonly seconds?: number
  readonly cases: readonly OverheadCase[]
}

export interface ShedCost extends Conditions {
  readonly costUs: Readonly<Record<'standing' | 'fresh', Readonly<Record<string, number>>>>
}

export interface Compared {
  readonly offUs: number
  readonly onUs: number
  readonly ratio: number
  /** Standard error of the ratio. */
  readonly error: number
  readonly pairs: number
}

export interface Observed extends Conditions, Compared {
  readonly rate: number
  readonly seconds: number
  readonly turnMs: number
  readonly shed: Compared
  readonly idle: Readonly<Record<'nothing' | 'ledger' | 'observed', number>>
}

export interface StartFigures {
  readonly cpuMs: number
  /** Maximum resident memory. */
  readonly rssMb: number
  /** Memory at the end without pages of files, such as Node itself, which all processes share. */
  readonly privateMb: number
}

export interface Start extends Conditions {
  readonly rounds: number
  /** `more` is the difference to the arm with which it is compared. */
  readonly arms: Readonly<Record<string, StartFigures & { readonly more?: StartFigures }>>
}

export interface Deadline extends Conditions {
  readonly rounds: number
  readonly cost: Readonly<Record<string, readonly number[]>>
  readonly bytes: Readonly<Record<string, readonly number[]>>
  readonly late: { readonly told: number; readonly of: number; readonly p50Ms: number; readonly maxMs: number }
}

export interface CallCost extends Conditions {
  readonly rounds: number
  readonly bareUs: number
  readonly meltproofUs: number
  readonly ratio: number
}

/** Maximum cost of a request, as a multiple of bare. */
const BARS = { standing: 1.05, short: 1.08 }
/** Maximum that meltproof adds to a start, in ms of CPU and MB of memory. A key is the beginning of an arm's name. */
const START_BARS: Readonly<Record<'no server' | 'a server', Pick<StartFigures, 'cpuMs' | 'rssMb'>>> = {
  'no server': { cpuMs: 5, rssMb: 2 },
  'a server': { cpuMs: 35, rssMb: 8 },
}

const us = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(1)} us`)
const percent = (share: number): string => `${(100 * share).toFixed(2)} %`
const where = (c: Conditions): string =>
  `${c.date}, Node ${c.node}, ${c.cores} cores of ${c.cpu}, Linux ${c.kernel}; load average before: ${c.loadBefore}.`

export function overheadSection(overhead: Overhead): string {
  const { seconds, rounds, cases } = overhead
  const turns = seconds === undefined ? '' : `, for ${seconds} s`
  const isReached = cases.every(({ name, ratio }) => ratio <= (name === 'hello world' ? BARS.standing : BARS.short))
  return `## What it costs when nothing is wrong

\`node bench/overhead.ts\`. The server's own CPU per request, bare and protected in one process; the load alternates
between the two in short turns${turns} in each of ${rounds} rounds. The ratio of a round is the median over neighbouring turns, so it
is not the quotient of the medians beside it. ${where(overhead)}

| | offered | connections | bare | protected | ratio | ratio of each round |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
${cases.map(each => `| ${each.name} | ${each.rate}/s | ${each.connections} | ${us(each.bareUs)} | ${us(each.protectedUs)} | ${each.ratio.toFixed(3)} | ${each.ratios.map(ratio => ratio.toFixed(2)).join(', ')} |`).join('\n')}

Aimed for: ${BARS.standing} times with hello world, and ${BARS.short} where connections are short. ${isReached ? 'Reached.' : 'Not reached.'}
`
}

export function shedSection(cost: ShedCost): string {
  const { standing, fresh } = cost.costUs
  /** Goodput of the ideal with a service time of 5 ms. */
  const ideal = (k: number, r: number | undefined): string =>
    r === undefined ? '–' : `${(100 * idealShare(k, r, 5000)).toFixed(0)} %`
  return `## r: what one shed costs

\`node bench/shed-cost.ts\`. The server's own CPU per shed request, while the loop is busy with other work.
${where(cost)}

| | standing connections | a connection per request |
| --- | ---: | ---: |
| meltproof | ${us(standing['shed'])} | ${us(fresh['shed'])} |
| the same 503 through \`ServerResponse\`, without an admission decision | ${us(standing['shed-response'])} | ${us(fresh['shed-response'])} |
| floor: \`node:net\`, nothing parsed, a fixed answer | ${us(standing['shed-floor'])} | ${us(fresh['shed-floor'])} |

With service time S, goodput at k times capacity can be at most (1 - k r/S) / (1 - r/S): with S = 5 ms and the r above,
${ideal(10, standing['shed'])} at 10x and ${ideal(100, standing['shed'])} at 100x with standing connections, ${ideal(10, fresh['shed'])} at 10x with fresh ones.
`
}

export function observedSection(observed: Observed): string {
  const { rate, turnMs, seconds, pairs, idle, shed } = observed
  const row = ({ offUs, onUs, ratio, error }: Compared): string =>
    `${offUs.toFixed(2)} us | ${onUs.toFixed(2)} us | ${ratio.toFixed(3)} ± ${error.toFixed(3)}`
  return `## Observing

\`node bench/observed.ts\`. ${where(observed)}

The server's own CPU per request at ${rate}/s over 50 connections: hello world, and a request that is shed. One process
switches it on and off every ${turnMs} ms for ${seconds} s. The last three fifths of each interval count, and the first intervals
do not (V8 recompiles); the ratio is the median of ${pairs} pairs of neighbours, with its standard error.

| | \`protect()\` | observed | ratio | aimed for |
| --- | ---: | ---: | ---: | ---: |
| hello world, \`metrics(guard)\` | ${row(observed)} | 1.02 |
| shed, \`metrics(guard)\` and \`accessLog(guard)\` | ${row(shed)} | 1.02 |

An idle process takes ${percent(idle.nothing)} of a core without observers, ${percent(idle.ledger)} with the heartbeat that detects stalls (aimed for: 0.5 %)
and ${percent(idle.observed)} with \`metrics(guard)\`; medians of rounds of six seconds.
`
}

export function startSection(start: Start): string {
  const figures = (one: StartFigures, more?: StartFigures): (number | undefined)[] => [
    ...[one.cpuMs, more?.cpuMs, one.rssMb, more?.rssMb, one.privateMb, more?.privateMb],
  ]
  const table = markdownTable(
    ['process', 'CPU (ms)', 'more', 'memory (MB)', 'more', 'private (MB)', 'more'],
    Object.entries(start.arms).map(([name, { more, ...one }]) => [
      name,
      ...figures(one, more).map(figure => figure?.toFixed(1) ?? ''),
    ]),
  )
  const bars = Object.entries(START_BARS)
  const isReached = Object.entries(start.arms).every(([name, { more }]) => {
    const [, bar] = bars.find(([begin]) => name.startsWith(begin)) ?? []
    if (bar === undefined || more === undefined || !/meltproof|protect/i.test(name)) return true
    return more.cpuMs <= bar.cpuMs && more.rssMb <= bar.rssMb
  })
  const aim = ({ cpuMs, rssMb }: (typeof START_BARS)['a server']): string => `${cpuMs} ms and ${rssMb} MB more`
  return `## The start

\`node bench/start.ts\`. ${where(start)}

CPU time and memory of whole processes, from their first instruction to their end; medians of ${start.rounds} rounds. *more* is the
median of the differences to the same process without meltproof, in the same round. *private* is memory that the process does
not share with others that run the same Node: the rest of the difference is pages of Node's own file.

${table}

Aimed for: without a server at most ${aim(START_BARS['no server'])}, with a protected server at most ${aim(START_BARS['a server'])}. ${isReached ? 'Reached.' : 'Not reached.'}
An ES module that imports \`node:http\` also loads undici, because Node does; CommonJS does not, and meltproof does not load
it either.
`
}

export function deadlineSection(deadline: Deadline): string {
  const { cost, bytes, late, rounds } = deadline
  const rows = Object.keys(cost).map(
    name => `| ${name} | ${median(cost[name]!)!.toFixed(2)} us | ${median(bytes[name]!)!.toFixed(0)} |`,
  )
  return `## A limit around a call

\`node bench/deadline.ts\`. ${where(deadline)} Medians of ${rounds} rounds, each figure from its own process, the rows alternating.

| one limit | begun and ended: CPU | pending: bytes held |
| --- | ---: | ---: |
${rows.join('\n')}

Each turn of the loop sets twenty limits; the cost of the same turns without limits is subtracted. The last three also
create a promise, and \`within\` an \`AbortSignal\` and the budget for nested calls; that is most of their cost.
\`AbortSignal.timeout\` cannot be cancelled: it holds its memory until it fires.

**True timeouts.** ${late.told} of ${late.of} limits of 200 ms that did pass were reported; beyond the limit and its extension by
stalls (every second round the loop is blocked for 100 ms) half of them within ${late.p50Ms.toFixed(1)} ms, all within ${late.maxMs.toFixed(1)} ms.
`
}

export function callsSection(calls: Readonly<Record<string, CallCost>>): string {
  const rows = Object.entries(calls).map(
    ([name, { bareUs, meltproofUs, ratio, rounds, date }]) =>
      `| ${name} | ${us(bareUs)} | ${us(meltproofUs)} | ${ratio.toFixed(3)} | ${rounds} | ${date} |`,
  )
  return `## An outbound call

\`node bench/outbound.ts\`. CPU of the calling process per call, 20 in flight on warm connections, a response of three bytes;
medians of alternating rounds; the ratio is the median of the rounds' ratios.

| client | bare | bounded | ratio | rounds | measured |
| --- | ---: | ---: | ---: | ---: | --- |
${rows.join('\n')}
`
}
