/**
 * Every scenario of the lab but `burst` (bench/burst.ts), run on a quiet machine, and the page about all of them. Each
 * result is kept as it ends, so the page can be completed run by run.
 *
 *   node bench/experiments.ts [--only timeouts,logging] [--full] [--report]
 *
 * About twenty minutes in the quick form. Writes bench/results/experiments/*.json, docs/images/experiment-*.svg and
 * docs/experiments.md; with --report only the page, from what is there.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScenarioResult } from '../packages/lab/src/report/scenario/result.ts'
import { pictureSvg } from '../packages/lab/src/report/scenario/plot-svg.ts'
import { catalogue } from '../packages/lab/src/scenarios/catalogue.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { experimentsPage } from './lib/experiments-page.ts'

const options = scriptOptions(import.meta.filename, {
  only: { type: 'string' },
  full: { type: 'boolean', default: false },
  report: { type: 'boolean', default: false },
})
const root = join(import.meta.dirname, '..')
const folder = join(import.meta.dirname, 'results/experiments')
const images = join(root, 'docs/images')
/** Another kind of result, and a page of its own: bench/burst.ts, docs/benchmarks.md. */
const ELSEWHERE = 'burst'
const names = catalogue.map(({ name }) => name).filter(name => name !== ELSEWHERE)
const chosen = options.chosen('only', names)
for (const directory of [folder, images]) mkdirSync(directory, { recursive: true })
if (!options.values.report) for (const name of chosen) run(name)
const results = names.flatMap(name => kept(name))
for (const { name, plots, arms, finding } of results) {
  const [first] = plots
  if (first !== undefined) writeFileSync(join(images, `experiment-${name}.svg`), pictureSvg(first, arms, finding))
}
writeFileSync(join(root, 'docs/experiments.md'), experimentsPage(results))

function run(name: string): void {
  console.log(`== ${name}`)
  const cli = join(root, 'packages/lab/dist/cli.js')
  const form = options.values.full ? ['--full'] : []
  const { status, stdout } = spawnSync(process.execPath, [cli, 'run', name, '--json', ...form], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28,
  })
  // 3: it ran, and something expected did not show. That is a result too.
  if (status !== 0 && status !== 3) process.exit(status ?? 1)
  const { measured: _raw, ...summary } = JSON.parse(stdout) as ScenarioResult
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(summary, null, 1)}\n`)
}

function kept(name: string): Omit<ScenarioResult, 'measured'>[] {
  const file = join(folder, `${name}.json`)
  return existsSync(file) ? [JSON.parse(readFileSync(file, 'utf8')) as ScenarioResult] : []
}
