/** Writes docs/costs.md from the results in bench/results. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { costsPage } from './costs-page.ts'

const BENCH = join(import.meta.dirname, '..')

export function writeCosts(): void {
  const page = costsPage(name => JSON.parse(readFileSync(join(BENCH, `results/${name}.json`), 'utf8')))
  writeFileSync(join(BENCH, '../docs/costs.md'), page)
}
