/** docs/costs.md: what each part costs, one row a figure, from the results of the benchmarks. Pure. */
import { median } from '../../packages/lab/src/melt/summary.ts'
import type { Conditions } from './conditions.ts'

interface Costs {
  readonly overhead: Conditions & {
    readonly cases: readonly { name: string; bareUs: number; protectedUs: number; ratio: number }[]
  }
  readonly 'shed-cost': Conditions & { readonly costUs: Record<'standing' | 'fresh', Record<string, number>> }
  readonly 'shed-cost-grpc': Conditions & { readonly costUs: Record<string, number> }
  readonly observed: Conditions & {
    readonly offUs: number
    readonly onUs: number
    readonly ratio: number
    readonly idle: Record<'nothing' | 'ledger' | 'observed', number>
  }
  readonly start: Conditions & { readonly arms: Record<string, { cpuMs: number; rssMb: number }> }
  readonly deadline: Conditions & { readonly cost: Record<string, readonly number[]> }
  readonly outbound: {
    readonly cost: Record<string, Conditions & { bareUs: number; meltproofUs: number; ratio: number }>
  }
}

/** How a figure of a benchmark is read: `read('overhead')` is bench/results/overhead.json. */
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
  const lines = rowsOf(<Name extends keyof Costs>(name: Name) => read<Costs[Name]>(name)).map(
    ({ what, page, without, with: guarded, from }) =>
      `| [${what}](${page}) | ${without} | ${guarded} | ${from.date}, ${from.cpu} |`,
  )
  return `# What it costs

Written by \`npm run bench\` (\`bench/write-docs.ts\`) from \`bench/results/\`; not by hand. Figures in us are CPU time of the
process, per request or call; *times* is the median of the ratios of rounds. **Compare within a row only**: the rows are of
different days, commits and machines, and some machines were not quiet. The page behind each row has the method, the load
average and more figures.

| | without | with meltproof | measured |
| --- | ---: | ---: | --- |
${lines.join('\n')}

What a dependency that melts costs its callers: [adaptive](benchmarks-adaptive.md). Memory that a burst takes: the column
\`peak rss\` of the [scoreboard](scoreboard.md)'s pages.
`
}

function rowsOf(read: <Name extends keyof Costs>(name: Name) => Costs[Name]): Row[] {
  const overhead = read('overhead')
  const shed = read('shed-cost')
  const grpc = read('shed-cost-grpc')
  const observed = read('observed')
  const start = read('start')
  const deadline = read('deadline')
  const { cost: calls } = read('outbound')
  const nothing = 'benchmarks.md#what-it-costs-when-nothing-is-wrong'
  const rejecting = 'benchmarks.md#r-what-one-shed-costs'
  const started = (arm: string): string => `${start.arms[arm]!.cpuMs} ms of CPU, ${start.arms[arm]!.rssMb} MB`
  const starts = (what: string, bare: string, guarded: string): Row => ({
    what,
    page: 'benchmarks-start.md',
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
      what: `a shed, ${mode === 'standing' ? 'standing connection' : 'a connection each'}`,
      page: rejecting,
      without: '',
      with: us(shed.costUs[mode]['shed']!),
      from: shed,
    })),
    { what: 'a shed of gRPC', page: 'http2.md', without: '', with: us(grpc.costUs['grpc']!), from: grpc },
    {
      what: 'metrics, hello world; without: `protect()` alone',
      page: 'benchmarks-observed.md',
      from: observed,
      without: us(observed.offUs),
      with: `${us(observed.onUs)}${ratio(observed.ratio)}`,
    },
    {
      what: 'idle, share of a core; without: `protect()` alone',
      page: 'benchmarks-observed.md',
      from: observed,
      without: percent(observed.idle.nothing),
      with: `${percent(observed.idle.observed)}, everything on`,
    },
    starts('start, ES module', 'a server as an ES module', 'a server as an ES module, `protect()`'),
    starts('start, CommonJS', 'a server in CommonJS', 'a server in CommonJS, `protect()`'),
    starts('a process without a server', 'no server', 'no server, `--require meltproof/register`'),
    {
      what: 'a limit around a call; without: a timer of Node',
      page: 'benchmarks-deadline.md',
      from: deadline,
      without: withUs('setTimeout + clearTimeout'),
      with: `${withUs('within(ms, fn(signal))')}, \`within()\``,
    },
    ...Object.entries(calls).map(([client, { bareUs, meltproofUs, ratio: times, ...from }]) => ({
      what: `an outbound call, ${client}`,
      page: 'benchmarks-outbound.md#what-it-costs',
      from,
      without: us(bareUs),
      with: `${us(meltproofUs)}${ratio(times)}`,
    })),
  ]
}
