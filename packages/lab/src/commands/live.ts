/** `meltlab live`: parses options, shows a page while it runs, then the report. ../live/ does the work. */
import type { Command } from 'commander'
import { tlsOf } from '../attack/tls-files.ts'
import { checkProgram } from '../launch/command.ts'
import { registerUrl } from '../launch/register-url.ts'
import { openBrowser, shouldOpen } from '../live/open-browser.ts'
import { checkLiveOptions, defaults, type RawLiveOptions } from '../live/options.ts'
import type { PageServer } from '../live/page-server.ts'
import { liveScenario } from '../live/scenario.ts'
import { progressOn } from '../progress.ts'
import { scenarioHtml } from '../report/html.ts'
import { scenarioCss } from '../report/write.ts'
import { appOptions } from './app-options.ts'
import { carryOut } from './carry-out.ts'
import { checkRequest } from './checked-plans.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { checkWritable } from './user-files.ts'

export function registerLive(program: Command): void {
  const command = program
    .command('live')
    .summary('watch a command melt, bare and protected, on a page with a slider')
    .description(
      'Starts COMMAND twice, bare and with meltproof, and serves a page on this computer that sends both the same load. ' +
        'A slider sets it, from 0.5 to 20 times the capacity. The End button, or Ctrl-C, stops it and prints the path of a report.',
    )
    .argument('[command...]', 'the command that starts the server, after --; it must listen on PORT')
    .option('--capacity <rate>', 'capacity to use for both, requests per second (default: measured on the bare app)')
    .option('--slo <duration>', 'an answer later than this is not good', '1s')
    .option('--timeout <duration>', 'time after which clients give up on a request', defaults.timeout)
    .option('--for <duration>', 'end after this time', defaults.for)
    .option('--no-open', 'print the address of the page instead of opening a browser')
  appOptions(command)
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
  const { melt, ...times } = checkLiveOptions(raw, typed)
  const options = { ...times, melt: { ...melt, tls: await tlsOf(raw) } }
  checkRequest(options.melt)
  checkProgram(options.melt.command)
  registerUrl()
  checkWritable(raw.out, '--out')
  const progress = progressOn(process.stderr)
  const [ending, skipping] = [new AbortController(), new AbortController()]
  let page: PageServer | undefined
  const scenario = liveScenario({
    options,
    ending,
    skipping: skipping.signal,
    onServing(served, address) {
      page = served
      progress.line(`watch it on ${address}`)
      const isTerminal = process.stderr.isTTY === true
      if (shouldOpen({ wanted: raw.open, isTerminal, ci: process.env['CI'] })) openBrowser(address)
    },
  })
  // Once the page is served, the first Ctrl-C acts like its End button, and the second skips the second measurement of
  // the capacity.
  const signal = stopOnSignals(progress, by => {
    const next = [ending, skipping].find(each => !each.signal.aborted)
    if (by !== 'SIGINT' || page === undefined || next === undefined) return false
    next.abort()
    return true
  })
  try {
    const result = await carryOut(scenario, 'quick', raw, progress, signal)
    await page?.show(scenarioHtml(result, scenarioCss()))
  } finally {
    await page?.close()
  }
}
