/** Writes docs/benchmarks.md and docs/costs.md from the files in bench/results. Never edit those pages by hand. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeCosts } from './lib/write-costs.ts'

const results = join(import.meta.dirname, 'results')
const text = (name: string): string =>
  existsSync(join(results, `${name}.txt`)) ? readFileSync(join(results, `${name}.txt`), 'utf8').trim() : 'not run yet'

writeCosts()
writeFileSync(
  join(import.meta.dirname, '../docs/benchmarks.md'),
  `# Benchmarks

Written by \`npm run bench\` (\`bench/write-docs.ts\`) from \`bench/results/\`; not by hand. Everything is compared in one run,
side by side, medians of the rounds in brackets (POST: one round), server and load on different cores. Absolute figures belong to the machine
that each block names; ratios travel better. What it costs: [costs](costs.md). Goodput under a burst: [experiments](experiments/burst.md).

## What the parts of turning away are worth

\`node bench/runtimes.ts\`: a service of 5 ms of CPU, cold, with 1,500 standing connections or one per request, and copies of the
runtime that each lack a part. *- early*: no shed before Node has created an \`IncomingMessage\`. *- raw*: in addition, no write
below \`ServerResponse\`. *- held*: no answer is delayed. *- backlogs*: the backlogs of the lanes keep their length.

The early shed and the raw answer gain a few points at 10x and about twenty at 100x. Delayed answers gain little at 100x, where
they leave a quarter of the clients without an answer within a second, and nearly everything at 300x. Short backlogs of the
lanes double goodput at 40x with a connection per request, and at 10x make one client in a hundred connect twice.

\`\`\`
${text('runtimes')}
\`\`\`

## Accept lanes

\`node bench/accept-lanes.ts\`.

\`\`\`
${text('accept-lanes')}
\`\`\`

The load generator itself, [beside others](generator.md): \`npm run bench:generator\`.
`,
)
