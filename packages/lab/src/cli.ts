#!/usr/bin/env node
/** The `meltlab` command: knows the commands' names and what becomes of their errors, nothing else. */
import './node-version.ts'
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { registerAttack } from './commands/attack.ts'
import { registerList } from './commands/list.ts'
import { registerMelt } from './commands/melt.ts'
import { registerReport } from './commands/report.ts'
import { registerRun } from './commands/run.ts'
import { registerStats } from './commands/stats.ts'
import { registerWatch } from './commands/watch.ts'
import { UserError } from './user-error.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

const program = new Command('meltlab')
  .description('Shows whether a Node.js service melts under load, and measures it honestly.')
  .version(version)
  .exitOverride()
  // Commander's own words come as errors and are printed once, below.
  .configureOutput({ writeErr: () => {} })
  .showSuggestionAfterError(true)

registerAttack(program)
registerMelt(program)
registerRun(program)
registerList(program)
registerReport(program)
registerStats(program)
registerWatch(program)

for (const command of program.commands) command.copyInheritedSettings(program)

/** A fault of the user's: one sentence and exit code 2. Anything else is ours and keeps its stack. */
const fail = (error: unknown): void => {
  if (error instanceof UserError) {
    process.stderr.write(`meltlab: ${error.message}\n`)
    process.exitCode = error.exitCode
  } else if (error instanceof CommanderError) {
    if (error.exitCode === 0) return
    if (error.code === 'commander.help') process.stderr.write(program.helpInformation())
    else process.stderr.write(`meltlab: ${oneSentence(error.message)}\n`)
    process.exitCode = 2
  } else {
    process.stderr.write(`meltlab: this is a fault of meltlab itself:\n${(error as Error)?.stack ?? String(error)}\n`)
    process.exitCode = 1
  }
}

/** `error: unknown option '--rat'\n(Did you mean --rate?)` -> `unknown option '--rat' (did you mean --rate?).` */
const oneSentence = (message: string): string =>
  `${message
    .replace(/^error: /, '')
    .replace(/\n\(Did/, ' (did')
    .replace(/\n/g, ' ')
    .replace(/\.$/, '')}.`

try {
  await program.parseAsync()
} catch (error) {
  fail(error)
}
