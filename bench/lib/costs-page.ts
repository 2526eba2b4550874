/** Makes docs/costs.md from the results: the cost of each part, one row per figure, and how it was measured. Pure. */
import { median } from '../../packages/lab/src/melt/summary.ts'
import type { Conditions } from './conditions.ts'
import {
  type CallCost,
  callsSection,
  type Deadline,
  deadlineSection,
  type Observed,
  type Overhead,
  observedSection,
  overheadSection,
  type ShedCost,
  type Start,
  shedSection,
  startSection,
} from './cost-sections.ts'

interface Costs {
  readonly overhead: Overhead
  readonly 'shed-cost': ShedCost
  readonly 'shed-cost-grpc': Conditions & { readonly costUs: Record<string, number> }
  readonly observed: Observed
  readonly start: Start
  readonly deadline: Deadline
  readonly outbound: { readonly cost: Readonly<Record<string, CallCost>> }
}

/** Reads the result of a benchmark: `read('overhead')` is bench/results/overhead.json. */
export type ReadResult = <T>(name: string) => T

interface Row {
  readonly what: string
  readonly page: string
  readonly without: string
  readonly with: string
  readonly from: Conditions
}

const us = (value: number): string => `${value.toFixed(value < 10 ? 2 : 1)} us`
const percent = (share: number): string => `${(100 * share).toFixed(2)} %`
const ratio = (value: number): string => ` (${value.toFixed(2)} times)`

export function costsPage(read: ReadResult): string {
  const of = <Name extends keyof Costs>(name: Name): Costs[Name] => read<Costs[Name]>(name)
  const lines = rowsOf(of).map(
    ({ what, page, without, with: guarded, from }) =>
      `| [${what}](${page}) | ${without} | ${guarded} | ${from.date}, ${from.cpu} |`,
  )
  return `# What it costs

Written by \`npm run bench\` (\`bench/write-docs.ts\`) from \`bench/results/\`; not by hand. Figures in us are CPU time of the
process, per request or call; *times* is the median of the ratios of rounds. **Compare within a row only**: each row
is a run of its own, and some machines were not quiet. Each row links to the method and more figures.

| | without | with meltproof | measured |
| --- | ---: | ---: | --- |
${lines.join('\n')}

What an overloaded dependency costs its callers: [adaptive](benchmarks-adaptive.md). Memory of a burst: the column
\`peak rss\` of the [scoreboard](scoreboard.md)'s pages. The gain of each part: [benchmarks](benchmarks.md).

${[
  overheadSection(of('overhead')),
  shedSection(of('shed-cost')),
  observedSection(of('observed')),
  startSection(of('start')),
  deadlineSection(of('deadline')),
  callsSection(of('outbound').cost),
].join('\n')}`
}

function rowsOf(read: <Name extends keyof Costs>(name: Name) => Costs[Name]): Row[] {
  const overhead = read('overhead')
  const shed = read('shed-cost')
  const grpc = read('shed-cost-grpc')
  const observed = read('observed')
  const start = read('start')
  const deadline = read('deadline')
  const { cost: calls } = read('outbound')
  const nothing = '#what-it-costs-when-nothing-is-wrong'
  const rejecting = '#r-what-one-shed-costs'
  const started = (arm: string): string => `${start.arms[arm]!.cpuMs} ms of CPU, ${start.arms[arm]!.rssMb} MB`
  const starts = (what: string, bare: string, guarded: string): Row => ({
    what,
    page: '#the-start',
    without: started(bare),
    with: started(guarded),
    from: start,
  })
  const withUs = (way: string): string => us(median(deadline.cost[way]!)!)
  return [
    ...overhead.cases.map(({ name, bareUs, protectedUs, ratio: times }) => ({
      what: name,
      page: nothing,
      without: us(bareUs),
      with: `${us(protectedUs)}${ratio(times)}`,
      from: overhead,
    })),
    ...(['standing', 'fresh'] as const).map(mode => ({
      what: `a shed, ${mode === 'standing' ? 'standing connection' : 'each on a new connection'}`,
      page: rejecting,
      without: '',
      with: us(shed.costUs[mode]['shed']!),
      from: shed,
    })),
    {
      what: 'a shed of gRPC',
      page: '../bench/results/shed-cost-grpc.json',
      without: '',
      with: us(grpc.costUs['grpc']!),
      from: grpc,
    },
    {
      what: 'metrics, hello world; without: `protect()` alone',
      page: '#observing',
      from: observed,
      without: us(observed.offUs),
      with: `${us(observed.onUs)}${ratio(observed.ratio)}`,
    },
    {
      what: 'idle, share of a core; without: `protect()` alone',
      page: '#observing',
      from: observed,
      without: percent(observed.idle.nothing),
      with: `${percent(observed.idle.observed)}, \`metrics(guard)\``,
    },
    starts('start, ES module', 'a server as an ES module', 'a server as an ES module, `protect()`'),
    starts('start, CommonJS', 'a server in CommonJS', 'a server in CommonJS, `protect()`'),
    starts('a process without a server', 'no server', 'no server, `--require meltproof/register`'),
    {
      what: 'a limit around a call; without: a timer of Node',
      page: '#a-limit-around-a-call',
      from: deadline,
      without: withUs('setTimeout + clearTimeout'),
      with: `${withUs('within(ms, fn(signal))')}, \`within()\``,
    },
    ...Object.entries(calls).map(([client, { bareUs, meltproofUs, ratio: times, ...from }]) => ({
      what: `an outbound call, ${client}`,
      page: '#an-outbound-call',
      from,
      without: us(bareUs),
      with: `${us(meltproofUs)}${ratio(times)}`,
    })),
  ]
}
