/** `meltlab merge`: results of several machines in, one document out. */
import type { Command } from 'commander'
import { type AttackDocument, attackJson } from '../results/attack-document.ts'
import { mergeAttacks } from '../results/merge.ts'
import { readResult } from '../results/read-result.ts'
import { UserError } from '../user-error.ts'
import { readText } from './written-file.ts'

export function registerMerge(program: Command): void {
  program
    .command('merge')
    .summary('join the results of several machines into one')
    .description(
      'Joins results of `meltlab attack --json` that several machines made at the same time of one server, and prints one ' +
        'document of the same form: rates and counts added, histograms without loss, seconds aligned. Refuses what does not add up.',
    )
    .argument('<result...>', 'files, two or more')
    .addHelpText('after', '\nExample:\n  meltlab merge one.json two.json > all.json')
    .action((files: string[]) => merge(files))
}

function merge(files: readonly string[]): void {
  if (files.length < 2) throw new UserError('merge needs two results or more')
  process.stdout.write(attackJson(mergeAttacks(files.map(name => ({ name, document: documentIn(name) })))))
}

function documentIn(file: string): AttackDocument {
  const read = readResult(readText(file), file)
  if (read.kind === 'attack') return read.document
  const what =
    read.kind === 'steps' ? `the ${read.documents.length} runs of attack --steps` : `a result of ${read.result.tool}`
  throw new UserError(`${file} holds ${what}; merge takes results of meltlab attack --json, one run a file`)
}
