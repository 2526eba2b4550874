/**
 * The demo's experiment as a benchmark: three rounds of every arm and load, with standing connections and with a
 * connection per request. Writes bench/results/burst-{standing,fresh}.json and docs/images/burst-{standing,fresh}.svg.
 *
 *   node bench/burst.ts [--rounds 3] [--duration 5s]
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { MeltResult } from '../packages/lab/src/report/result.ts'
import { burst } from '../packages/lab/src/scenarios/burst.ts'
import { scriptOptions } from '../scripts/script-options.ts'

const { values, whole } = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '3' },
  duration: { type: 'string', default: '5s' },
})
const rounds = whole('rounds')
const root = join(import.meta.dirname, '..')
const MODES = {
  standing: ['--at', '0.5,1,2,6,10'],
  fresh: ['--at', '1,2,10', '--fresh'],
} as const
mkdirSync(join(root, 'docs/images'), { recursive: true })
for (const [name, options] of Object.entries(MODES)) {
  const output = execFileSync(
    process.execPath,
    [
      join(root, 'packages/lab/dist/cli.js'),
      'melt',
      ...['--name', `burst-${name}`, '--rounds', String(rounds), '--duration', values.duration, '--timeout', '3s'],
      ...options,
      ...burst.also.flatMap(arm => ['--also', arm]),
      '--',
      ...burst.command,
    ],
    { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 26 },
  )
  console.log(output)
  const run = dirname(join(root, output.trim().split('\n').at(-1)!))
  const { steps: _steps, ...summary } = JSON.parse(readFileSync(join(run, 'result.json'), 'utf8')) as MeltResult
  writeFileSync(join(import.meta.dirname, `results/burst-${name}.json`), `${JSON.stringify(summary, null, 2)}\n`)
  copyFileSync(join(run, 'curve.svg'), join(root, `docs/images/burst-${name}.svg`))
}
