/** Writes docs/generator.md from the results of generator.ts and load-tools.ts. Never edit that page by hand. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GeneratorResult } from './generator.ts'
import type { LoadToolsResult, ToolResult } from './load-tools.ts'
import type { Conditions } from './lib/conditions.ts'

const read = <T>(name: string): T =>
  JSON.parse(readFileSync(join(import.meta.dirname, `results/${name}.json`), 'utf8')) as T
const own = read<GeneratorResult>('generator')
const tools = read<LoadToolsResult>('load-tools')

const where = (c: Conditions): string =>
  `${c.date}, Node ${c.node}, ${c.cores} cores of ${c.cpu}, Linux ${c.kernel}; load average before: ${c.loadBefore}`
const ms = (value: number | undefined): string =>
  value === undefined ? '–' : value >= 100 ? `${Math.round(value)} ms` : `${Number(value.toPrecision(2))} ms`
const us = (value: number): string => `${value.toFixed(1)} us`
const whole = (value: number): string => Math.round(value).toLocaleString('en-US')
const named = ({ name, version }: ToolResult): string => `${name} ${version}`.trim()
const rows = (list: readonly string[][]): string => list.map(cells => `| ${cells.join(' | ')} |`).join('\n')

const slow = own.rows[0]!
writeFileSync(
  join(import.meta.dirname, '../docs/generator.md'),
  `# The load generator beside others

Written by \`npm run bench:generator\`; not by hand. Server and generator have a core each; medians of ${tools.rounds} alternating rounds.
${where(tools)}.${tools.missing.length > 0 ? ` Not on this machine: ${tools.missing.map(({ name }) => name).join(', ')}.` : ''}

## A server that stands still for two seconds

For ten seconds 200 requests a second are due; from the fourth second on the server stalls for two. Every fifth request
arrives during the stall and waits, the first of them for two seconds. A tool that sends on time, and counts from then, finds
a p90 of 1,000 ms, a p99 of 1,900 and a maximum of 2,000. Tools without a rate send as fast as 50 connections get answers:
their users send nothing while the server stalls.

| tool | requests | p50 | p90 (1,000 ms) | p99 (1,900 ms) | longest (2,000 ms) |
| --- | ---: | ---: | ---: | ---: | ---: |
${rows(tools.tools.map(tool => [`${named(tool)}${tool.keepsRate ? '' : ', no rate'}`, whole(tool.made.stop.requests), ms(tool.made.stop.p50), ms(tool.made.stop.p90), ms(tool.made.stop.p99), ms(tool.made.stop.max)]))}

## A quiet server, 1,000 requests a second

A client that only spins on one connection finds a p50 of ${ms(own.truth.p50)} and a p99 of ${ms(own.truth.p99)} here (\`bench/generator.ts\`).
CPU is that of the tool with all its processes, so a short run includes its start.

| tool | p50 | p99 | CPU a request |
| --- | ---: | ---: | ---: |
${rows(tools.tools.filter(tool => tool.keepsRate).map(tool => [named(tool), ms(tool.made.quiet.p50), ms(tool.made.quiet.p99), us(tool.made.quiet.cpuUs)]))}

## The maximum of one core

50 connections, each of which sends the next request when it has its answer. The server's own core may be the limit.

| tool | requests a second | CPU a request |
| --- | ---: | ---: |
${rows(tools.tools.map(tool => [named(tool), whole(tool.made.most.perSecond), us(tool.made.most.cpuUs)]))}

## The generator alone

\`bench/generator.ts\`; medians of ${own.rounds} rounds. ${where(own)}. *Work* is the CPU of its thread without idle turns, *process* the CPU of the whole process.
Aimed for: 80,000/s on one core at 8 us, and at 1,000/s a p50 and p99 within 0.1 and 0.3 ms of the true value; here they are off by
${ms(slow.p50 - own.truth.p50)} and ${ms(slow.p99 - own.truth.p99)}.

| run | requests a second | p50 | p99 | sent late, p50 | sent late, p99 | work a request | process a request | certified |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
${rows(own.rows.map(row => [row.run, whole(row.rate), ms(row.p50), ms(row.p99), ms(row.lagP50), ms(row.lagP99), us(row.workUs), us(row.processUs), `${row.certified} of ${own.rounds}`]))}
`,
)
