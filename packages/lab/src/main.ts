/** The commands of `meltlab`, and the handling of their errors. */
import { Command, CommanderError, Help } from 'commander'
import { registerAttack } from './commands/attack.ts'
import { registerAudit } from './commands/audit.ts'
import { labVersion } from './commands/lab-version.ts'
import { registerCompare } from './commands/compare.ts'
import { registerList } from './commands/list.ts'
import { registerLive } from './commands/live.ts'
import { registerMelt } from './commands/melt.ts'
import { registerRecover } from './commands/recover.ts'
import { registerReport } from './commands/report.ts'
import { registerRun } from './commands/run.ts'
import { registerStats } from './commands/stats.ts'
import { UserError } from './user-error.ts'

const program = new Command('meltlab')
  .description('Shows whether a Node.js service melts under load.\nBegin with: meltlab melt --quick -- node server.js')
  .version(labVersion())
  .exitOverride()
  // Prints a default as it is typed: `(default: 1s)`.
  .configureHelp({
    optionDescription: option =>
      Help.prototype.optionDescription
        .call({}, option)
        .replace(' (default: [])', '')
        .replace(/default: "([^"]*)"/, 'default: $1'),
  })
  // Commander's messages arrive as errors, which are printed once below.
  .configureOutput({ writeErr: () => {} })
  .showSuggestionAfterError(true)

registerMelt(program)
registerRecover(program)
registerLive(program)
registerAttack(program)
registerCompare(program)
registerAudit(program)
registerRun(program)
registerList(program)
registerReport(program)
registerStats(program)

for (const command of program.commands) {
  command.copyInheritedSettings(program).exitOverride(error => {
    throw Object.assign(error, { helpOf: `meltlab ${command.name()}` })
  })
}

/** A user's mistake gets one sentence and exit code 2. Any other error is a bug and keeps its stack. */
const fail = (error: unknown): void => {
  if (error instanceof UserError) {
    process.stderr.write(`meltlab: ${printable(error.message)}\n`)
    process.exitCode = error.exitCode
  } else if (error instanceof CommanderError) {
    if (error.exitCode === 0) return
    if (error.code === 'commander.help') process.stderr.write(program.helpInformation())
    else process.stderr.write(`meltlab: ${oneSentence(error.message)}; ${helpOf(error)} --help lists what there is\n`)
    process.exitCode = 2
  } else {
    process.stderr.write(`meltlab: this is a bug in meltlab:\n${(error as Error)?.stack ?? String(error)}\n`)
    process.exitCode = 1
  }
}

/** Removes control characters: the message may quote a file or a server, and terminals obey them. */
const printable = (message: string): string => message.replace(/[^\P{Cc}\n]/gu, '?')

const helpOf = (error: CommanderError & { readonly helpOf?: string }): string => error.helpOf ?? 'meltlab'

/** `error: unknown option '--rat'\n(Did you mean --rate?)` -> `unknown option '--rat' (did you mean --rate?)` */
const oneSentence = (message: string): string =>
  message
    .replace(/^error: /, '')
    .replace(/\n\(Did/, ' (did')
    .replace(/\n/g, ' ')
    .replace(/\.$/, '')

/** For `meltlab list | head -1`: when the reader closes its pipe, output to files continues. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return
    process.exitCode = 1
    if (stream === process.stdout) process.stderr.write(`meltlab: stdout cannot be written: ${error.message}\n`)
  })
}

export async function main(): Promise<void> {
  try {
    await program.parseAsync()
  } catch (error) {
    fail(error)
  }
}
