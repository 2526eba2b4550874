/** A table of figures in a handwritten page. Its first cell names the script that replaces the table. */
import { readFileSync } from 'node:fs'
import { writeWhole } from '../../packages/lab/src/write-whole.ts'
import type { Conditions } from './conditions.ts'

export const NOT_MEASURED = 'not measured'

/** The first cell, which identifies the table. */
export const madeBy = (script: string): string => `[\`node bench/${script}.ts\`](../bench/${script}.ts)`

export const measuredOn = ({ date, commit = 'unknown', node, cpu, cores, loadBefore }: Conditions): string =>
  `${date}, commit ${commit}, Node ${node}, ${cores} cores of ${cpu}, load average before: ${loadBefore}`

/** @throws Error unless the page has exactly one such table */
export function tableIn(page: string, script: string): string {
  return linesOf(page, script).table.join('\n')
}

export function withTable(page: string, script: string, table: string): string {
  const { before, after } = linesOf(page, script)
  return [...before, table, ...after].join('\n')
}

/** Replaces the table in the file. */
export function putTable(file: string, script: string, table: string): void {
  writeWhole(file, withTable(readFileSync(file, 'utf8'), script, table))
}

function linesOf(page: string, script: string) {
  const lines = page.split('\n')
  const heads = lines.flatMap((line, at) => (line.startsWith(`| ${madeBy(script)} |`) ? [at] : []))
  if (heads.length !== 1) throw new Error(`the page has ${heads.length} tables that begin with ${madeBy(script)}`)
  const [from] = heads as [number]
  const length = lines.slice(from).findIndex(line => !line.startsWith('|'))
  const to = length === -1 ? lines.length : from + length
  return { before: lines.slice(0, from), table: lines.slice(from, to), after: lines.slice(to) }
}
