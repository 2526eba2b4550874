/** `meltlab merge`: results of several machines in, one document out. */
import type { Command } from 'commander'
import { attackJson } from '../results/attack-document.ts'
import { mergeAttacks } from '../results/merge.ts'
import { checkAttack, parseJson } from '../results/read-attack.ts'
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
  const twice = files.find((file, at) => files.indexOf(file) !== at)
  if (twice !== undefined) throw new UserError(`${twice} is given twice; its requests would be counted twice`)
  const parts = files.map(name => ({ name, document: checkAttack(parseJson(readText(name), name), name) }))
  process.stdout.write(attackJson(mergeAttacks(parts)))
}
