/** `meltlab recover`: parses options, prints a table and sets the exit code. ../melt/ does the work. */
import type { Command } from 'commander'
import { tlsOf } from '../attack/tls-files.ts'
import { parseDuration } from '../durations.ts'
import { armsOf } from '../melt/arms.ts'
import { dependencyOf } from '../melt/dependency.ts'
import { limitsView } from '../melt/limits.ts'
import { checkOptions, presets, type RawMeltOptions } from '../melt/options.ts'
import { UserError } from '../user-error.ts'
import { appOptions } from './app-options.ts'
import { carryOutMelt } from './carry-out-melt.ts'

type RawRecoverOptions = RawMeltOptions & { readonly within: string; readonly dependency?: string }

export function registerRecover(program: Command): void {
  const command = program
    .command('recover')
    .summary('find what a command does not recover from by itself, bare and protected')
    .description(
      'Restarts COMMAND for each trial, bare and with meltproof: 3 s above its capacity, then 0.8x of it. Reports for ' +
        'each the smallest spike (1.5x to 20x) from which it does not recover, and the smallest number of client ' +
        'retries (none to three) that prevents recovery. Retries are tested in the largest spike from which the bare ' +
        'command recovers without retries. With --dependency also the shortest silence of a dependency (1 s to 20 s): ' +
        'the command gets the address of a relay, which passes everything on until it falls silent.',
    )
    .argument('[command...]', 'the command that starts the server, after --')
    .option('--within <duration>', 'time within which it must recover: whole seconds', '10s')
    .option('--dependency <variable>', 'the environment variable, or variable=value, with its URL or host:port')
    .option('--slo <duration>', 'an answer later than this is not good', '1s')
    .option('--timeout <duration>', 'time after which clients give up on a request', presets.quick.timeout)
    .option('--url <url>', 'where the command listens (default: detected)')
  appOptions(command)
    .addHelpText(
      'after',
      `
Takes two to eight minutes, and one to four more with --dependency.

Examples:
  meltlab recover -- node server.js
  meltlab recover --dependency DATABASE_URL -- node server.js`,
    )
    .action((typed: string[], options: RawRecoverOptions) => recover(typed, options))
}

async function recover(typed: readonly string[], raw: RawRecoverOptions): Promise<void> {
  const { within, dependency, ...given } = raw
  const withinMs = parseDuration(within, '--within')
  if (withinMs % 1000 !== 0 || withinMs > 60_000) {
    throw new UserError(`--within must be whole seconds, at most 60s, got ${within}`)
  }
  const checked = checkOptions({ ...given, rounds: '1', spacing: 'even', also: [], quick: true }, typed, 'recover')
  const options = { ...checked, multiples: [], tls: await tlsOf(raw) }
  const arms = armsOf(options.command, [])
  await carryOutMelt(
    {
      title: 'What it recovers from',
      story: `Spikes, and clients that retry in them${dependency === undefined ? '' : ', and a silent dependency'}, offered to a command bare and protected.`,
      arms,
      limitsWithinS: withinMs / 1000,
      dependency: dependency === undefined ? undefined : dependencyOf(dependency, process.env),
      view: measured => limitsView(measured, arms, withinMs),
    },
    options,
    'full',
    raw,
  )
}
