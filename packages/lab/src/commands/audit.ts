/** `meltlab audit`: parses options, prints findings and sets the exit code. ../audit/ does the work. */
import type { Command } from 'commander'
import { tlsOf } from '../attack/tls-files.ts'
import { CAUSES } from '../audit/causes.ts'
import { checkAuditOptions, type RawAuditOptions } from '../audit/options.ts'
import { runAudit } from '../audit/run-audit.ts'
import { auditText } from '../audit/text.ts'
import { checkProgram } from '../launch/command.ts'
import { refuseTaken } from '../launch/wait-until-listening.ts'
import { planOf } from '../load/load-request.ts'
import { collect } from '../option-values.ts'
import { progressOn } from '../progress.ts'
import { wrapWords } from '../report/wrap-words.ts'
import { requestOptions } from './app-options.ts'
import { anywhere, checkedPlans } from './checked-plans.ts'
import { stopOnSignals } from './stop-on-signals.ts'

/** Exit codes; 0 means no findings. */
const EXIT_CODES = { melts: 3, warning: 4, tooFew: 5 }

export function registerAudit(program: Command): void {
  const [melts, warnings] = (['melts', 'warning'] as const).map(wanted =>
    Object.entries(CAUSES)
      .filter(([, { severity }]) => severity === wanted)
      .map(([cause]) => cause)
      .join(', '),
  )
  const command = program
    .command('audit')
    .summary('run a Node server and report what would melt it')
    .description(
      'Starts COMMAND, sends it requests for a few seconds, first one at a time and then from several users, ends it ' +
        'with SIGTERM while they continue, and reports what would melt it: where, how often, and the remedy. It only ' +
        'observes the running app, so it sees only what the requests reach. It writes nothing to the working folder.',
    )
    .argument('[command...]', 'the command that starts the server, after --')
    .option('--path <path>', 'path to request; repeatable (default: /)', collect, [])
    .option('--users <n>', 'concurrent users', '10')
    .option('--duration <duration>', 'duration of the load, without the shutdown', '10s')
    .option('--url <url>', 'where the command listens (default: detected)')
  requestOptions(command)
    .addHelpText(
      'after',
      `
${wrapWords(`What melts it: ${melts}.`, 80).join('\n')}
${wrapWords(`Warnings: ${warnings}.`, 80).join('\n')}
Exit codes: 0 no findings, 3 something melts it, 4 only warnings, 5 too few
requests of a path to judge it, 2 wrong usage, 130 Ctrl-C.

Examples:
  meltlab audit -- node server.js
  meltlab audit --path / --path /search?q=tide --json -- npm start`,
    )
    .action((typed: string[], options: RawAuditOptions) => audit(typed, options))
}

async function audit(typed: readonly string[], raw: RawAuditOptions): Promise<void> {
  const options = { ...checkAuditOptions(raw, typed), tls: await tlsOf(raw) }
  checkedPlans([planOf({ ...options, url: anywhere(options.paths[0]!) })])
  checkProgram(options.command)
  await refuseTaken(options.url)
  const progress = progressOn(process.stderr)
  const { result, failure } = await runAudit(options, progress, stopOnSignals(progress))
  if (result !== undefined && (failure === undefined || result.requests > 0)) {
    process.stdout.write(raw.json === true ? `${JSON.stringify(result)}\n` : `${auditText(result)}\n`)
  }
  if (failure !== undefined) throw failure
  if (result?.worst) process.exitCode = EXIT_CODES[result.worst]
  else if (result !== undefined && result.tooFew.length > 0) process.exitCode = EXIT_CODES.tooFew
}
