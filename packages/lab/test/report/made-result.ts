/** A made-up result with one plot of each kind. */
import type { BarsPlot, LinesPlot, ScenarioResult } from '../../src/report/result.ts'

export const arms = [
  { name: 'bare', kind: 'bare', what: 'no limit' },
  { name: 'meltproof', kind: 'protected', what: 'install({ totalMs: 3000 })' },
] as const

export const lines: LinesPlot = {
  kind: 'lines',
  title: 'Waiting on the backend',
  x: { label: 'time', unit: 's' },
  y: { label: 'requests', unit: 'count' },
  series: [
    {
      arm: 'bare',
      points: [
        [0, 0],
        [1, 400],
        [2, null],
        [3, 1000],
      ],
    },
    {
      arm: 'meltproof',
      points: [
        [0, 0],
        [3, 300],
      ],
    },
  ],
  levels: [{ value: 500, name: 'half' }],
}
export const bars: BarsPlot = {
  kind: 'bars',
  title: 'p99',
  y: { label: 'latency', unit: 'ms', scale: 'log' },
  groups: [
    {
      label: 'faulty',
      bars: [
        { arm: 'bare', value: 10_100 },
        { arm: 'meltproof', value: 3002 },
      ],
    },
  ],
}

export const madeResult = (more: Partial<ScenarioResult> = {}): ScenarioResult => ({
  kind: 'scenario',
  version: 1,
  name: 'made-up',
  title: 'Made up',
  story: 'A backend is slow.',
  form: 'quick',
  startedAt: '2026-01-02T03:04:05.000Z',
  elapsedMs: 60_000,
  incomplete: false,
  certified: true,
  why: [],
  conditions: {
    commandLine: 'meltlab run made-up',
    labVersion: '0.1.0',
    node: 'v24.0.0',
    platform: 'Linux x64',
    cpu: 'a CPU',
    cores: 2,
    memoryBytes: 8e9,
    pinning: { server: 1, dependency: 0, lab: 0 },
    foreign: { mean: 0.02, worst: 0.1 },
  },
  arms,
  published: [{ what: 'mean', value: '1.173 s', ours: '1.096 s' }],
  verdicts: [
    { name: 'the limit holds', verdict: 'pass', measured: 'p99 3.00 s' },
    { name: 'it is cheap', verdict: 'fail', measured: '9 %' },
    { name: 'it is fast', verdict: 'not judged', measured: 'the machine was busy' },
  ],
  standings: [
    { arm: 'bare', says: 'waits', tone: 'bad', figure: '10.1 s', of: 'p99' },
    { arm: 'meltproof', says: 'ends it', tone: 'good', figure: '3.00 s', of: 'p99' },
  ],
  finding: 'With a limit, p99 is 3 s <instead of> 10 s.',
  tables: [{ title: 'Figures', columns: ['arm', 'p99'], rows: [{ arm: 'bare', cells: ['bare', '10.1 s'] }] }],
  plots: [lines, bars],
  printouts: [{ title: 'siege', text: 'Transactions: 5 hits' }],
  measured: {},
  ...more,
})
