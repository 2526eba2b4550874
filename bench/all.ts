/**
 * Every benchmark behind docs/benchmarks.md, one after another, then the document itself. About twenty minutes; it
 * wants the machine for itself. Each can be run alone: node bench/<name>.ts.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

for (const name of ['shed-cost', 'overhead', 'burst', 'accept-lanes', 'generator', 'outbound', 'write-docs']) {
  console.log(`\n== ${name}`)
  execFileSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit' })
}
