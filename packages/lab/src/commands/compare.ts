/** `meltlab compare`: takes results or subjects, prints a table, sets the exit code. ../compare/ judges differences. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { type Command, Option } from 'commander'
import { tlsOf } from '../attack/tls-files.ts'
import { splitWords } from '../command-line.ts'
import { type Result, resultOf } from '../compare/comparable.ts'
import { type Comparison, compare as compareSides } from '../compare/compare.ts'
import { type FigureVerdict, isDecided } from '../compare/comparison.ts'
import { SIDES, type SideName, type Subject, takeTurns } from '../compare/take-turns.ts'
import { comparisonText } from '../compare/text.ts'
import { FEWEST } from '../compare/trimmed-interval.ts'
import { parseDuration } from '../durations.ts'
import { makeContext } from '../experiment/context.ts'
import { checkProgram } from '../launch/command.ts'
import { allowedCores, coresOf, pinSelf, unpinSelf } from '../launch/core-pinning.ts'
import { planOf } from '../load/load-request.ts'
import type { Tls } from '../load/plan.ts'
import {
  checkPath,
  collect,
  type Given,
  headersOf,
  knownMethod,
  numberOf,
  parseUrl,
  type TlsFlags,
} from '../option-values.ts'
import { progressOn } from '../progress.ts'
import { type AttackDocument, attackJson } from '../results/attack-document.ts'
import { withoutControls } from '../terminal.ts'
import { UserError } from '../user-error.ts'
import { notMet } from './carry-out.ts'
import { anywhere, checkedPlans } from './checked-plans.ts'
import { labVersion } from './lab-version.ts'
import { sideOf } from './result-files.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { checkWritable, writeText } from './user-files.ts'

/** If p50 varies by 2 % between runs, a change of 5 % is found in 9 of 10 cases (bench/compare.ts). */
const ROUNDS = '20'
const MOST_ROUNDS = '100'
/** At 500/s a run has more than 2,000 answers, and 20 of them lie beyond its p99. */
const DURATION = '5s'
/** Time for V8 to compile the hot code. */
const WARM_UP = '2s'

/** Exit code when noise may hide a difference larger than the tolerance. */
const undecided = 4

type Flags = Given<'duration' | 'warmUp' | 'timeout' | 'slo' | 'startTimeout' | 'path', string> &
  TlsFlags &
  Partial<
    Given<'a' | 'b' | 'keep' | 'rounds' | 'until' | 'rate' | 'users' | 'connections' | 'method' | 'body', string> &
      Given<'fresh' | 'json' | 'failOnRegression' | 'failOnUndecided', true> &
      Given<'header', readonly string[]>
  >

export function registerCompare(program: Command): void {
  program
    .command('compare')
    .summary('report which differences between two results, or two commands, are real')
    .description(
      'Compares the results A and B: files of `meltlab attack --json`, or folders with several. With --a and --b it ' +
        'measures two commands or running servers itself, alternately. Says for goodput, p50, p90, p99 and errors which ' +
        'difference is real, and rejects results that are not comparable.',
    )
    .argument('[A]', 'a result, or a folder with one for each round')
    .argument('[B]', 'the same for the other side')
    .option('--a <what>', 'command that starts a server, or URL of a running one')
    .option('--b <what>', 'the command or URL to compare it with')
    .option('--rounds <n>', `number of measurements of each (default: ${ROUNDS})`)
    .option(
      '--until <share>',
      `measure until a change of SHARE, such as 5%, would be detected, at most ${MOST_ROUNDS} rounds`,
    )
    .option('--rate <n>', 'requests per second, whatever the server does')
    .addOption(new Option('--users <n>', 'users who each wait for their answer').conflicts(['rate', 'connections']))
    .option('--duration <duration>', 'duration of one measurement', DURATION)
    .option('--warm-up <duration>', 'duration of the load before it', WARM_UP)
    .option('--connections <n>', 'standing connections for --rate (default: by rate)')
    .addOption(new Option('--fresh', 'a new connection for every request').conflicts('connections'))
    .option('--timeout <duration>', 'time after which an unanswered request counts as failed', '10s')
    .option('--slo <duration>', 'answers within this are goodput', '1s')
    .option('--start-timeout <duration>', 'maximum time for a command to start listening', '10s')
    .option('--path <path>', 'path to request', '/')
    .option('--method <name>', 'HTTP method (default: GET, POST with --body)')
    .option('--header <line>', 'a header such as "Accept: text/html"; repeatable', collect)
    .option('--body <text>', 'body of every request')
    .option('--insecure', 'for servers with TLS: do not verify their certificates')
    .option('--cacert <file>', 'for servers with TLS: trust this authority (PEM)')
    .option('--keep <dir>', 'also write the result of each round to DIR/a and DIR/b')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .option('--fail-on-regression', `end with exit code ${notMet} if B is worse in any metric, beyond noise`)
    .option(
      '--fail-on-undecided',
      `end with exit code ${undecided} if a change of 5% (or --until) could not have been detected`,
    )
    .addHelpText(
      'after',
      `
Examples:
  meltlab compare --a "node old.js" --b "node new.js" --rate 500
  meltlab compare --a http://127.0.0.1:3000 --b http://127.0.0.1:3001 --users 20
  meltlab compare before/ after/ --fail-on-regression`,
    )
    .action(compare)
}

async function compare(a: string | undefined, b: string | undefined, flags: Flags, command: Command): Promise<void> {
  if (flags.a === undefined && flags.b === undefined) {
    if (a === undefined || b === undefined) {
      throw new UserError('two results are needed, or --a and --b with two commands; meltlab compare --help')
    }
    const misplaced = command.options.find(
      option =>
        command.getOptionValueSource(option.attributeName()) === 'cli' &&
        !['json', 'failOnRegression', 'failOnUndecided'].includes(option.attributeName()),
    )
    if (misplaced !== undefined) {
      throw new UserError(`${misplaced.long} works only with --a and --b; stored results are not measured again`)
    }
    show(compareSides(sideOf(a), sideOf(b)), flags)
    return
  }
  if (flags.a === undefined || flags.b === undefined) throw new UserError('--a and --b belong together; one is missing')
  if (a !== undefined) throw new UserError(`results (${a}) and --a, --b exclude each other`)
  await inTurns(flags.a, flags.b, flags)
}

async function inTurns(a: string, b: string, flags: Flags): Promise<void> {
  const tolerance = flags.until === undefined ? undefined : shareOf(flags.until)
  const { rounds, ...turns } = turnsOf(a, b, flags, await tlsOf(flags))
  if (flags.keep !== undefined) {
    for (const side of SIDES) checkEmpty(path.join(flags.keep, side))
  }
  const progress = progressOn(process.stderr)
  const signal = stopOnSignals(progress)
  const allowed = allowedCores()
  const cores = coresOf(allowed)
  if (cores !== undefined) pinSelf(cores.lab)
  const { context, end } = makeContext({ form: 'full', signal, progress, cores })
  const results: Record<SideName, Result[]> = { a: [], b: [] }
  const whole = (): number => Math.min(results.a.length, results.b.length)
  const comparison = (): Comparison => {
    const [ofA, ofB] = [results.a.slice(0, whole()), results.b.slice(0, whole())]
    return compareSides({ name: a, results: ofA }, { name: b, results: ofB }, tolerance)
  }
  const isEnough = (round: number): boolean => {
    if (tolerance === undefined || round < FEWEST) return false
    try {
      return isDecided(comparison().figures)
    } catch {
      return false // Too many rounds were unreliable so far.
    }
  }
  let failure: unknown
  try {
    await takeTurns(context, {
      ...turns,
      rounds,
      labVersion: labVersion(),
      isEnough,
      onResult(side, round, document) {
        results[side].push(resultOf(`${side.toUpperCase()} ${round}`, document))
        if (flags.keep !== undefined) keep(path.join(flags.keep, side), round, document)
        progress.line(lineOf(side, round, rounds, document))
      },
    })
  } catch (error) {
    failure = signal.aborted ? signal.reason : error
  }
  await end()
  if (cores !== undefined) unpinSelf(allowed)
  progress.clear()
  try {
    if (failure === undefined || whole() > 0) {
      const found = comparison()
      show(cores === undefined ? { ...found, remarks: [...found.remarks, UNPINNED] } : found, flags)
    }
  } catch (error) {
    // If the run ended early, that reason is thrown instead of this error.
    failure ??= error
  }
  if (failure !== undefined) throw failure
}

const UNPINNED = 'Server and lab shared the cores of this machine: separate cores need taskset and two cores.'

/** Old results in the folder would be compared with the new ones. */
function checkEmpty(folder: string): void {
  checkWritable(folder, '--keep')
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new UserError(`${folder} is not empty; name another with --keep`)
  }
}

function turnsOf(a: string, b: string, flags: Flags, tls: Tls | undefined) {
  if (flags.rate === undefined && flags.users === undefined) {
    throw new UserError('--rate or --users is required: it sets the load for both commands')
  }
  const durationMs = parseDuration(flags.duration, '--duration')
  const requestPath = checkPath(flags.path)
  const rounds = flags.rounds ?? (flags.until === undefined ? ROUNDS : MOST_ROUNDS)
  const common = {
    durationMs,
    method: knownMethod(flags.method ?? (flags.body === undefined ? 'GET' : 'POST'), '--method'),
    headers: headersOf(flags.header ?? []),
    body: flags.body,
    tls,
    timeoutMs: parseDuration(flags.timeout, '--timeout'),
    sloMs: parseDuration(flags.slo, '--slo'),
    ...(flags.fresh === true ? { fresh: true } : {}),
  }
  const load =
    flags.users === undefined
      ? {
          ...common,
          rate: numberOf(flags.rate!, '--rate', 0.001, 60_000, false),
          ...(flags.connections === undefined
            ? {}
            : { connections: numberOf(flags.connections, '--connections', 1, 15_000, true) }),
        }
      : { ...common, users: numberOf(flags.users, '--users', 1, 15_000, true) }
  checkedPlans([planOf({ ...load, url: anywhere(requestPath) })])
  return {
    subjects: { a: subjectOf(a, '--a'), b: subjectOf(b, '--b') },
    rounds: numberOf(rounds, '--rounds', FEWEST, 1000, true),
    path: requestPath,
    load,
    warmUpMs: parseDuration(flags.warmUp, '--warm-up'),
    startTimeoutMs: parseDuration(flags.startTimeout, '--start-timeout'),
  }
}

function subjectOf(text: string, option: string): Subject {
  if (/^https?:\/\//.test(text)) {
    const url = parseUrl(text)
    if (url.pathname !== '/' || url.search !== '') {
      throw new UserError(`${option} must be the origin of a server, such as ${url.origin}; use --path for the path`)
    }
    return { origin: url }
  }
  const command = splitWords(text)
  if (command.length === 0) throw new UserError(`${option} must be a command or a URL, got "${text}"`)
  checkProgram(command, option)
  return { command }
}

function keep(folder: string, round: number, document: AttackDocument): void {
  mkdirSync(folder, { recursive: true })
  writeText(path.join(folder, `${String(round).padStart(4, '0')}.json`), attackJson(document))
}

function lineOf(side: SideName, round: number, rounds: number, document: AttackDocument): string {
  const { latencyMs, goodputPerSecond, certified, certificate } = document
  const ms = (value: number | null): string => (value === null ? '–' : `${Number(value.toPrecision(3))} ms`)
  const figures = `goodput ${goodputPerSecond}/s  p50 ${ms(latencyMs.p50)}  p99 ${ms(latencyMs.p99)}`
  return `round ${round} of ${rounds}  ${side.toUpperCase()}  ${figures}${certified ? '' : `  not certified (${certificate.code})`}`
}

function shareOf(text: string): number {
  const percent = Number(/^(\d+(?:\.\d+)?)%$/.exec(text)?.[1])
  if (percent > 0 && percent <= 100) return percent / 100
  throw new UserError(`--until must be a share from above 0% to 100%, such as 5%, got ${text}`)
}

function show(comparison: Comparison, { json, failOnRegression, failOnUndecided }: Flags): void {
  process.stdout.write(json === true ? `${JSON.stringify(comparison)}\n` : withoutControls(comparisonText(comparison)))
  const has = (...verdicts: readonly FigureVerdict[]): boolean =>
    comparison.figures.some(({ verdict }) => verdicts.includes(verdict))
  if (failOnRegression === true && has('worse')) process.exitCode = notMet
  else if (failOnUndecided === true && has('undecided', 'cannot tell')) process.exitCode = undecided
}
