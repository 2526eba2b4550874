/** `meltlab melt`: parses options, prints a table, writes the report and sets the exit code. ../melt/ does the work. */
import type { Command } from 'commander'
import { tlsOf } from '../attack/tls-files.ts'
import { armsOf } from '../melt/arms.ts'
import { checkOptions, presets, type RawMeltOptions } from '../melt/options.ts'
import { collect } from '../option-values.ts'
import { appOptions } from './app-options.ts'
import { carryOutMelt } from './carry-out-melt.ts'

export function registerMelt(program: Command): void {
  const { full, quick } = presets
  const command = program
    .command('melt')
    .summary('offer a command multiples of its capacity, bare and protected, and show the curves')
    .description(
      'Starts COMMAND and finds its capacity. Then offers multiples of the capacity, bare and with meltproof, each ' +
        'from a cold start, and finally a spike from clients that retry, to see how soon each recovers. Takes about ' +
        'four minutes. Ends with a verdict on each and the path of a report.',
    )
    .argument('[command...]', 'the command that starts the server, after --')
    .option('--at <multiples>', `multiples of the capacity to offer (default: ${full.at}; quick: ${quick.at})`)
    .option('--slo <duration>', 'an answer later than this is not goodput', '1s')
    .option('--duration <duration>', `length of one step (default: ${full.duration}; quick: ${quick.duration})`)
    .option('--rounds <n>', 'repeat every step and show medians', '1')
    .option(
      '--timeout <duration>',
      `time after which clients give up on a request (default: ${full.timeout}; quick: ${quick.timeout})`,
    )
    .option('--spacing <kind>', 'arrivals: even, or poisson (independent users)', 'even')
    .option(
      '--also <arm>',
      "another variant to measure: Node options or a command, '[name=]...'; repeatable",
      collect,
      [],
    )
    .option('--url <url>', 'where the command listens (default: detected)')
    .option('--no-recovery', 'skip the recovery test at the end')
    .option('--quick', 'fewer and shorter steps: just over a minute')
  appOptions(command)
    .addHelpText(
      'after',
      `
Examples:
  meltlab melt -- node server.js
  meltlab melt --quick --path /search?q=tide -- npm start
  meltlab melt --also "toobusy=node with-toobusy.js" -- node server.js
  meltlab melt --also "--import ./my-shedder.js" -- node server.js`,
    )
    .action((command: string[], options: RawMeltOptions) => melt(command, options))
}

async function melt(typed: readonly string[], raw: RawMeltOptions): Promise<void> {
  const options = { ...checkOptions(raw, typed), tls: await tlsOf(raw) }
  await carryOutMelt(
    {
      title: 'Goodput against offered load',
      story: 'Multiples of its capacity, offered to a command bare and protected, each time from a cold start.',
      arms: armsOf(options.command, raw.also),
    },
    options,
    raw.quick === true ? 'quick' : 'full',
    raw,
  )
}
