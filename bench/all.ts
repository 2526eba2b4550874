/**
 * Every benchmark behind docs/benchmarks.md, and most of those behind docs/costs.md, one after another, then both
 * documents. About twenty minutes; it wants the machine for itself. Each can be run alone: node bench/<name>.ts.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** These print what they found; the others write their own file under results/. */
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
