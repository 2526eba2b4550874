/** The results of a side: of a file, or of all files in a folder. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { ForeignResult } from '../results/foreign/foreign-result.ts'
import { readResult } from '../results/read-result.ts'
import { UserError } from '../user-error.ts'
import { type Result, resultOf } from './comparable.ts'
import type { Side } from './compare.ts'

/** @throws UserError for what is not there, or is no result */
export function sideOf(place: string): Side {
  return { name: place, results: filesOf(place).map(resultIn) }
}

function filesOf(place: string): string[] {
  const stats = statSync(place, { throwIfNoEntry: false })
  if (stats === undefined) throw new UserError(`there is no ${place}; expected a result, or a folder with results`)
  if (!stats.isDirectory()) return [place]
  const names = readdirSync(place).filter(name => /\.(?:nd)?json$/.test(name))
  if (names.length === 0) throw new UserError(`${place} holds no result; expected files that end in .json or .ndjson`)
  return names.sort().map(name => path.join(place, name))
}

function resultIn(file: string): Result {
  const read = readResult(textOf(file), file)
  return read.kind === 'attack' ? resultOf(file, read.document) : foreignResultOf(file, read.result)
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UserError(`${file} can not be read: ${(error as Error).message}`)
  }
}

/** An SLO is nothing another tool knows, so there is no goodput. */
export function foreignResultOf(name: string, result: ForeignResult): Result {
  const { tool, latencyOf, startedAt, latencyMs, requests, ok } = result
  const due = requests === null ? null : requests + (result.unsent ?? 0)
  const errors = due === null || due === 0 || ok === null ? null : Math.max(0, due - ok) / due
  const { p50, p90, p99 } = latencyMs
  return { name, tool, latencyOf, startedAt, figures: { goodput: null, p50, p90, p99, errors } }
}
