/** Writes docs/benchmarks.md, and docs/costs.md, from what the benchmarks left in bench/results. Never edit those files by hand. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Conditions } from './lib/conditions.ts'
import { costsPage } from './lib/costs-page.ts'
import type { OverheadCase } from './overhead.ts'
import { idealShare } from '../packages/lab/src/scenarios/overload/ideal.ts'

interface Overhead extends Conditions {
  readonly rounds: number
  /** Missing in older results. */
  readonly seconds?: number
  readonly cases: readonly OverheadCase[]
}

interface ShedCost extends Conditions {
  readonly costUs: Readonly<Record<'standing' | 'fresh', Readonly<Record<string, number>>>>
}

const results = join(import.meta.dirname, 'results')
const read = <T>(name: string): T => JSON.parse(readFileSync(join(results, `${name}.json`), 'utf8')) as T
const text = (name: string): string =>
  existsSync(join(results, `${name}.txt`)) ? readFileSync(join(results, `${name}.txt`), 'utf8').trim() : 'not run yet'
const us = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(1)} us`)
const where = (c: Conditions): string =>
  `${c.date}, Node ${c.node}, ${c.cores} cores of ${c.cpu}, Linux ${c.kernel}; load average before: ${c.loadBefore}.`

writeFileSync(join(import.meta.dirname, '../docs/costs.md'), costsPage(read))

const overhead = read<Overhead>('overhead')
const cost = read<ShedCost>('shed-cost')

writeFileSync(
  join(import.meta.dirname, '../docs/benchmarks.md'),
  `# Benchmarks

Written by \`npm run bench\` (\`bench/write-docs.ts\`) from \`bench/results/\`; not by hand. Everything is compared in one run,
side by side, medians of several rounds, server and load on different cores. Absolute figures belong to the machine
named under each heading; ratios travel better. In short: [costs](costs.md). Goodput under a burst: [experiments](experiments/burst.md).

## r: what one shed costs

\`node bench/shed-cost.ts\`. The server's own CPU per request turned away, while the loop is busy with other work.
${where(cost)}

| | standing connections | a connection per request |
| --- | ---: | ---: |
| meltproof | ${us(cost.costUs.standing['shed'])} | ${us(cost.costUs.fresh['shed'])} |
| the same 503 through \`ServerResponse\`, deciding nothing | ${us(cost.costUs.standing['shed-response'])} | ${us(cost.costUs.fresh['shed-response'])} |
| floor: \`node:net\`, nothing parsed, a fixed answer | ${us(cost.costUs.standing['shed-floor'])} | ${us(cost.costUs.fresh['shed-floor'])} |

With service time S, goodput at k times capacity can be at most (1 - k r/S) / (1 - r/S): with S = 5 ms and the r above,
${ideal(10, cost.costUs.standing['shed'])} at 10x and ${ideal(100, cost.costUs.standing['shed'])} at 100x with standing connections, ${ideal(10, cost.costUs.fresh['shed'])} at 10x with fresh ones.

## What the parts of turning away are worth

\`node bench/runtimes.ts\`: a service of 5 ms of CPU, cold, with 1,500 standing connections or one per request, and copies of the
runtime that each lack a part. *- early*: nothing is shed before Node has made an \`IncomingMessage\`. *- raw*: nor is anything
written below \`ServerResponse\`. *- held*: no answer is put off. *- backlogs*: the queues before the lanes keep their length.

The early shed and the raw answer are worth a few points at 10x and about twenty at 100x. Putting answers off is worth little at
100x, where it leaves a quarter of the clients without an answer within a second, and everything at 300x. Short queues before
the lanes double what is served at 40x with a connection per request, and at 10x make one client in a hundred knock twice.

\`\`\`
${text('runtimes')}
\`\`\`

## What it costs when nothing is wrong

\`node bench/overhead.ts\`. The server's own CPU per request, bare and protected in one process, the load going from
one to the other ${inTurns(overhead)} in each of ${overhead.rounds} rounds; medians. ${where(overhead)}

| | offered | connections | bare | protected | ratio | ratio of each round |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
${overhead.cases.map(each => `| ${each.name} | ${each.rate}/s | ${each.connections} | ${us(each.bareUs)} | ${us(each.protectedUs)} | ${each.ratio.toFixed(3)} | ${each.ratios.map(ratio => ratio.toFixed(2)).join(', ')} |`).join('\n')}

## Accept lanes

\`node bench/accept-lanes.ts\`.

\`\`\`
${text('accept-lanes')}
\`\`\`

The load generator itself, [beside others](generator.md): \`npm run bench:generator\`.
`,
)

/** With a service time of 5 ms. */
function ideal(k: number, r: number | undefined): string {
  return r === undefined ? '–' : `${(100 * idealShare(k, r, 5000)).toFixed(0)} %`
}

/** Older results do not say how long. */
function inTurns({ seconds }: Overhead): string {
  return seconds === undefined ? 'in turns' : `for ${seconds} s`
}
