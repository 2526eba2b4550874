/**
 * Runs some benchmarks of docs/costs.md and docs/benchmarks.md one after another, then writes both pages from all
 * stored results. Takes about twenty minutes and needs a quiet machine. Each also runs alone: node bench/<name>.ts.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Scripts whose output is stored as their result. The other scripts write their own file in results/. */
const PRINTING = ['accept-lanes']

for (const name of ['shed-cost', 'overhead', 'accept-lanes', 'outbound', 'write-docs']) {
  console.log(`\n== ${name}`)
  const script = join(import.meta.dirname, `${name}.ts`)
  if (!PRINTING.includes(name)) {
    execFileSync(process.execPath, [script], { stdio: 'inherit' })
    continue
  }
  const text = execFileSync(process.execPath, [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  console.log(text)
  writeFileSync(join(import.meta.dirname, `results/${name}.txt`), text)
}
