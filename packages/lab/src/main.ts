/** The commands of `meltlab`, and the handling of their errors. */
import { setImmediate } from 'node:timers/promises'
import { Command, CommanderError, Help } from 'commander'
import { labVersion } from './commands/lab-version.ts'
import { withoutControls } from './terminal.ts'
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

/** In the order of `--help`. Each command is loaded by itself, because loading all of them takes twice as long. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  melt: async () => (await import('./commands/melt.ts')).registerMelt,
  recover: async () => (await import('./commands/recover.ts')).registerRecover,
  live: async () => (await import('./commands/live.ts')).registerLive,
  attack: async () => (await import('./commands/attack.ts')).registerAttack,
  compare: async () => (await import('./commands/compare.ts')).registerCompare,
  audit: async () => (await import('./commands/audit.ts')).registerAudit,
  run: async () => (await import('./commands/run.ts')).registerRun,
  list: async () => (await import('./commands/list.ts')).registerList,
  report: async () => (await import('./commands/report.ts')).registerReport,
  stats: async () => (await import('./commands/stats.ts')).registerStats,
}

/** Registers the command that is called, or all of them for help and for an unknown name. */
async function registerCommands(called: string): Promise<void> {
  const one = Object.hasOwn(COMMANDS, called) ? COMMANDS[called] : undefined
  for (const load of one === undefined ? Object.values(COMMANDS) : [one]) (await load())(program)
  for (const command of program.commands) {
    command.copyInheritedSettings(program).exitOverride(error => {
      throw Object.assign(error, { helpOf: `meltlab ${command.name()}` })
    })
  }
}

/** A user's mistake gets one sentence and an exit code, usually 2. A bug, any other error, gets a stack and code 1. */
const fail = (error: unknown): void => {
  if (error instanceof UserError) {
    process.stderr.write(`meltlab: ${withoutControls(error.message)}\n`)
    process.exitCode = error.exitCode
  } else if (error instanceof CommanderError) {
    if (error.exitCode === 0) return
    if (error.code === 'commander.help') process.stderr.write(program.helpInformation())
    else process.stderr.write(`meltlab: ${oneSentence(error.message)}; see ${helpOf(error)} --help\n`)
    process.exitCode = 2
  } else {
    process.stderr.write(`meltlab: this is a bug in meltlab:\n${(error as Error)?.stack ?? String(error)}\n`)
    process.exitCode = 1
  }
}

const helpOf = (error: CommanderError & { readonly helpOf?: string }): string => error.helpOf ?? 'meltlab'

/** `error: unknown option '--rat'\n(Did you mean --rate?)` -> `unknown option '--rat' (did you mean --rate?)` */
const oneSentence = (message: string): string =>
  message
    .replace(/^error: /, '')
    .replace(/\n\(Did/, ' (did')
    .replace(/\n/g, ' ')
    .replace(/\.$/, '')

/** Ignores a pipe that its reader closed, as in `meltlab list | head -1`: files are still written. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return
    process.exitCode = 1
    if (stream === process.stdout) process.stderr.write(`meltlab: stdout cannot be written: ${error.message}\n`)
  })
}

export async function main(): Promise<void> {
  try {
    await registerCommands(process.argv[2] ?? '')
    // Lets the handlers run for a signal that arrived while the command was loading.
    await setImmediate()
    await program.parseAsync()
  } catch (error) {
    fail(error)
  }
}
