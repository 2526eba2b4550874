/** `meltlab watch`: any Node process, seen from outside and from inside while it runs; live, and as a report. */
import type { Command } from 'commander'
import { parseDuration } from '../durations.ts'
import { describeMachine } from '../launch/machine.ts'
import { parseUrl } from '../option-values.ts'
import { progressOn, repeating } from '../progress.ts'
import { registerUrl } from '../launch/register-url.ts'
import type { ScenarioResult } from '../report/result.ts'
import { UserError } from '../user-error.ts'
import { type Sample, sampleLine, WATCH_ARMS, watchView } from '../watch/samples.ts'
import { watchCommand } from '../watch/watch-command.ts'
import { provenance, show } from './carry-out.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { checkWritable } from './writable-folder.ts'

interface Flags {
  readonly url?: string
  readonly interval: string
  readonly protect?: true
  readonly out: string
  readonly json?: true
}

const SHORTEST_INTERVAL_MS = 250
/** Where nothing can be rewritten in place, a line this often. */
const PLAIN_EVERY_MS = 10_000
/** Whoever waits for hours wants to know early. */
const SILENT_MS = 5000

export function registerWatch(program: Command): void {
  program
    .command('watch')
    .summary('run a Node command and watch it')
    .description(
      'Runs COMMAND and samples it until it ends: memory and CPU from outside; heap, event loop and, where meltproof ' +
        'protects a server, what is in service, waits and is shed, from inside (through meltproof/register, without an ' +
        "inspector). The command's own output passes through. Ends with a report, also on Ctrl-C.",
    )
    .argument('<command...>', 'the command, after --')
    .usage('[options] -- command...')
    .option('--url <url>', 'fetch this once an interval and show how long it took')
    .option('--interval <duration>', 'how often to sample', '1s')
    .option('--protect', 'with meltproof (default: only watched)')
    .option('--out <dir>', 'where to put the folder of the run', 'runs')
    .option('--json', "print the result as one JSON document on stdout; the command's own stdout goes to stderr")
    .addHelpText(
      'after',
      `
Examples:
  meltlab watch -- node server.js
  meltlab watch --protect --url http://127.0.0.1:3000/ -- npm start`,
    )
    .action((command: string[], flags: Flags) => watch(command, flags))
}

async function watch(command: readonly string[], flags: Flags): Promise<void> {
  const intervalMs = parseDuration(flags.interval, '--interval')
  if (intervalMs < SHORTEST_INTERVAL_MS) {
    throw new UserError(`--interval must be at least ${SHORTEST_INTERVAL_MS}ms, got ${flags.interval}`)
  }
  const url = flags.url === undefined ? undefined : parseUrl(flags.url)
  checkWritable(flags.out, '--out')
  const progress = progressOn(process.stderr)
  const signal = stopOnSignals(progress)
  const startedAt = new Date()
  const tell = repeating(progress, process.stderr, PLAIN_EVERY_MS)
  let saidEarly = false
  const { samples, heard, code, endedBy } = await watchCommand({
    command,
    intervalMs,
    url,
    registerUrl: registerUrl(),
    protect: flags.protect === true,
    stdoutToStderr: flags.json === true,
    signal,
    onSample: (sample, all, isNode) => {
      tell(sampleLine(sample), sample.atMs)
      if (saidEarly || sample.atMs < SILENT_MS) return
      saidEarly = true
      const mistake = mistakeIn(all, isNode, command, url)
      if (mistake !== undefined) progress.line(`meltlab: ${mistake}`)
    },
  })
  progress.clear()
  const mistake = mistakeIn(samples, heard, command, url)
  const why = [
    ...(signal.aborted ? ['the watch was ended before the command did'] : []),
    ...(mistake === undefined ? [] : [mistake]),
  ]
  const result: ScenarioResult = {
    kind: 'scenario',
    version: 1,
    name: 'watch',
    title: command.join(' '),
    story: `Sampled every ${flags.interval}, ${flags.protect === true ? 'with meltproof' : 'without protection of ours'}.`,
    form: 'full',
    startedAt: startedAt.toISOString(),
    elapsedMs: Date.now() - startedAt.getTime(),
    incomplete: signal.aborted,
    certified: why.length === 0,
    why,
    conditions: {
      ...provenance(),
      ...describeMachine(),
      pinning: null,
      foreign: null,
    },
    arms: WATCH_ARMS,
    published: [],
    verdicts: [],
    ...watchView(samples),
    measured: { samples, exit: { code, signal: endedBy } },
  }
  if (samples.length > 0) show(result, flags)
  if (signal.aborted) throw signal.reason
  if (samples.length === 0) {
    const what = code === 0 ? 'a shorter --interval samples sooner' : 'what it wrote says why'
    throw new UserError(`the command ended ${howEnded(code, endedBy)} before the first sample; ${what}`)
  }
  if (mistake !== undefined) throw new UserError(mistake)
  if (code !== 0) {
    process.stderr.write(`meltlab: the command ended ${howEnded(code, endedBy)}\n`)
    process.exitCode = code ?? 1
  }
}

/** What shows only once the command runs. Its memory and CPU are seen all the same. */
function mistakeIn(
  samples: readonly Sample[],
  heard: boolean,
  [program]: readonly string[],
  url: URL | undefined,
): string | undefined {
  if (samples.length === 0) return undefined
  if (!heard) {
    return (
      `${program} is no Node program, so only its memory and CPU can be seen; give a command that starts ` +
      'Node 22.12 or newer and keeps NODE_OPTIONS'
    )
  }
  if (url !== undefined && samples.every(({ probeMs }) => typeof probeMs !== 'number')) {
    return `nothing answered at ${url.href}; --url must be an address that the command listens on`
  }
  return undefined
}

function howEnded(code: number | null, endedBy: NodeJS.Signals | null): string {
  return endedBy === null ? `with exit code ${code}` : `by ${endedBy}`
}
