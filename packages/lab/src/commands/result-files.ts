/** Finds the results that a user names: files, or folders of several. */
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { type Result, resultOf } from '../compare/comparable.ts'
import type { Side } from '../compare/compare.ts'
import { readResult } from '../results/read-attack.ts'
import { UserError } from '../user-error.ts'
import { readText } from './user-files.ts'

/** @throws UserError if the place does not exist or contains no results */
export function resultFiles(place: string): string[] {
  const stats = statSync(place, { throwIfNoEntry: false })
  if (stats === undefined) throw new UserError(`${place} does not exist; expected a result, or a folder with results`)
  if (!stats.isDirectory()) return [place]
  const names = readdirSync(place).filter(name => name.endsWith('.json'))
  if (names.length === 0) throw new UserError(`${place} contains no result; expected files that end in .json`)
  return names.sort().map(name => path.join(place, name))
}

/** @throws UserError if the place does not exist or is not the result of one load */
export function sideOf(place: string): Side {
  return { name: place, results: resultFiles(place).map(resultIn) }
}

function resultIn(file: string): Result {
  const read = readResult(readText(file), file)
  if (read.kind === 'attack') return resultOf(file, read.document)
  throw new UserError(
    `${file} contains the ${read.documents.length} runs of attack --steps; compare needs a file for each run: measure one rate, without --steps`,
  )
}
