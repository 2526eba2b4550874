/** `meltlab live`: options in; a page while it lasts, then the report. What happens in between is in ../live/. */
import type { Command } from 'commander'
import { findProgram } from '../launch/command.ts'
import { registerUrl } from '../launch/register-url.ts'
import { openBrowser, shouldOpen } from '../live/open-browser.ts'
import { checkLiveOptions, defaults, type RawLiveOptions } from '../live/options.ts'
import { liveScenario } from '../live/scenario.ts'
import { collect } from '../option-values.ts'
import { type Progress, progressOn } from '../progress.ts'
import { scenarioHtml } from '../report/html.ts'
import { scenarioCss } from '../report/write.ts'
import { onSignal } from '../signals.ts'
import { UserError } from '../user-error.ts'
import { carryOut } from './carry-out.ts'
import { checkWritable } from './writable-folder.ts'

export function registerLive(program: Command): void {
  program
    .command('live')
    .summary('watch a command melt, bare and protected, on a page with a slider')
    .description(
      'Starts COMMAND twice, bare and with meltproof, and serves a page on this computer that offers both the same load: ' +
        '0.5 to 20 times what they can do, as you drag. Its button End, or Ctrl-C, ends it with the path of a report.',
    )
    .argument('[command...]', 'the command that starts the server, after --; it must listen where PORT says')
    .usage('[options] -- command...')
    .option('--capacity <rate>', 'requests per second that each can answer (default: found by itself)')
    .option('--slo <duration>', 'an answer later than this is not good', '1s')
    .option('--timeout <duration>', 'give up on an answer', defaults.timeout)
    .option('--for <duration>', 'end by itself after this long', defaults.for)
    .option('--connections <n>', 'standing keep-alive connections to each (default: 200 to 1500, by rate)')
    .option('--fresh', 'a new connection for every request')
    .option('--start-timeout <duration>', 'how long the command may take until it listens', '10s')
    .option('--path <path>', 'path to request (default: /)')
    .option('--method <method>', 'request method', 'GET')
    .option('--header <header>', "request header such as 'accept: text/html'; repeatable", collect, [])
    .option('--body <text>', 'request body')
    .option('--name <name>', 'name of the run (default: from the command)')
    .option('--out <dir>', 'where to put the folder of the run', 'runs')
    .option('--no-open', 'print the address of the page and open no browser')
    .option('--json', 'print the result as one JSON document on stdout, and nothing else')
    .addHelpText(
      'after',
      `
A browser is opened where there is a terminal, and not in CI.

Examples:
  meltlab live -- node server.js
  meltlab live --capacity 200 --path /search?q=tide -- npm start`,
    )
    .action((command: string[], options: RawLiveOptions) => live(command, options))
}

async function live(typed: readonly string[], raw: RawLiveOptions): Promise<void> {
  const options = checkLiveOptions(raw, typed)
  const [program] = options.melt.command
  if (findProgram(program!, process.env['PATH'] ?? '') === undefined) {
    throw new UserError(`there is no program '${program}' to start`)
  }
  checkWritable(raw.out, '--out')
  registerUrl()
  const progress = progressOn(process.stderr)
  const ending = new AbortController()
  let isServing = false
  const { scenario, finish } = liveScenario({
    options,
    ending,
    onServing(address) {
      isServing = true
      progress.line(`watch it on ${address}`)
      const isTerminal = process.stderr.isTTY === true
      if (shouldOpen({ wanted: raw.open, isTerminal, ci: process.env['CI'] })) openBrowser(address)
    },
  })
  const signal = stopOrEnd(progress, ending, () => isServing)
  let report: string | undefined
  try {
    const result = await carryOut(scenario, 'quick', raw, progress, signal)
    report = scenarioHtml(result, scenarioCss())
  } finally {
    await finish(report)
  }
}

/** Once the page is there, the first Ctrl-C is its button End. Whatever comes next stops at once, and then at all costs. */
function stopOrEnd(progress: Progress, ending: AbortController, isServing: () => boolean): AbortSignal {
  const controller = new AbortController()
  onSignal(({ by, signal, exitCode }) => {
    if (controller.signal.aborted) process.exit(exitCode) // the exit handler of launch/command.ts ends what we started
    progress.status('stopping')
    if (signal === 'SIGINT' && isServing() && !ending.signal.aborted) ending.abort()
    else controller.abort(new UserError(`stopped by ${by}`, exitCode))
  })
  return controller.signal
}
