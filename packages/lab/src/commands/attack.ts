/** `meltlab attack URL`: parses flags, calls the engine and prints; report/attack-report.ts has the report. */
import { type Command, Option } from 'commander'
import { type Expectation, judge, parseExpectation } from '../attack/expectation.ts'
import { DEFAULTS, type Flags } from '../attack/flags.ts'
import { plansOf } from '../attack/plans-of.ts'
import { preflight } from '../attack/preflight.ts'
import { send } from '../attack/send.ts'
import { targetsOf } from '../attack/targets-of.ts'
import { parseDuration } from '../durations.ts'
import type { Spacing } from '../load/plan.ts'
import { speaksTls } from '../load/tls.ts'
import { collect, knownMethod, numberOf } from '../option-values.ts'
import { judgedText, offered } from '../report/attack-words.ts'
import { k6Script } from '../results/k6-script.ts'
import { UserError } from '../user-error.ts'
import { deliver } from './attack-results.ts'
import { notMet } from './carry-out.ts'
import { checkedPlans } from './checked-plans.ts'
import { checkWritableFile } from './user-files.ts'

const numberWithin =
  (name: string, least: number, most: number, whole: boolean) =>
  (text: string): number =>
    numberOf(text, name, least, most, whole)

/** A duration with a default that `--help` shows as a user would write it. */
const lasting = (name: string, description: string, fallback: string): Option =>
  new Option(`${name} <duration>`, description)
    .argParser(text => parseDuration(text, name))
    .default(parseDuration(fallback, name), fallback)

export const registerAttack = (program: Command): void => {
  program
    .command('attack')
    .summary('send load to a URL, and report the result')
    .description(
      'Sends load to URL, at a rate that does not wait for answers (--rate) or from users who do (--users), and reports ' +
        'the result.',
    )
    .argument('[url]', 'such as http://127.0.0.1:3000/; or --targets, --har, --journey')
    .option('--rate <n>', `requests per second, whatever the server does (default ${DEFAULTS.rate})`, rate('--rate'))
    .option(
      '--steps <rates>',
      'rates in sequence, such as 100,200,400, each for --duration, with a row in the report',
      rates,
    )
    .option('--ramp-to <n>', 'increase the rate evenly from --rate to this', rate('--ramp-to'))
    .option('--users <n>', 'users who each wait for their answer', numberWithin('--users', 1, 100_000, true))
    .option('--think <duration>', 'pause of a user between two requests, from half to one and a half of this', text =>
      parseDuration(text, '--think'),
    )
    .addOption(lasting('--duration', 'duration of the load', DEFAULTS.duration))
    .option(
      '--connections <n>',
      `keep-alive connections to open, and the maximum (default ${DEFAULTS.connections}, more as needed up to ${DEFAULTS.mostConnections})`,
      numberWithin('--connections', 1, 1_000_000, true),
    )
    .option('--fresh', 'a new connection for every request')
    .option('--http2', 'HTTP/2: negotiated in TLS (ALPN), or without negotiation for http: URLs (h2c)')
    .option(
      '--streams <n>',
      `concurrent requests on each connection of --http2 (default ${DEFAULTS.streams}, fewer if the server says so)`,
      numberWithin('--streams', 1, 10_000, true),
    )
    .addOption(lasting('--timeout', 'time after which an unanswered request counts as failed', DEFAULTS.timeout))
    .addOption(lasting('--slo', 'answers within this are goodput', DEFAULTS.slo))
    .addOption(
      new Option('--spacing <kind>', 'how arrivals are spaced').choices(['even', 'poisson']).default('even' as Spacing),
    )
    .option('--threads <n>', 'worker threads (default: depends on the rate)', numberWithin('--threads', 1, 256, true))
    .option(
      '--targets <file>',
      "requests, sent round robin, in vegeta's http format (METHOD URL, headers, @bodyfile) or its JSON lines; - is stdin",
    )
    .option('--har <file>', 'requests, sent round robin, as a browser recorded them; - is stdin')
    .addOption(
      new Option(
        '--journey <file>',
        'steps in sequence (JSON, see docs/journeys.md); --rate counts journeys, and a URL replaces the origin in the file',
      ).conflicts(['targets', 'har', 'users', 'method', 'body', 'export']),
    )
    .option('--method <name>', 'HTTP method (default GET, POST with --body)', text => knownMethod(text, '--method'))
    .option('--header <line>', 'a header such as "Accept: text/html"; repeatable, also with the same name', collect)
    .option('--body <text>', 'body of every request; @FILE reads a file, @- stdin')
    .option('--insecure', 'do not verify the certificate of the server')
    .option('--cacert <file>', 'trust servers whose certificate this authority signed (PEM)')
    .option('--cert <file>', 'client certificate (PEM)')
    .option('--key <file>', 'its key (PEM), if it is not in the same file')
    .option(
      '--expect <what>',
      'a condition; the exit code is 3 if it is not met: "p99<250ms" (p50 p90 p95 p99 p99.9 max mean), "goodput>=95%" or ">=900/s", ' +
        '"errors<1%", "shed<5%", "failed<10"; repeatable',
      (text, before: readonly Expectation[] = []) => [...before, parseExpectation(text)],
    )
    .option('--json', 'print one JSON document and nothing else on stdout')
    .addOption(
      new Option('--export <tool>', 'send nothing; print the load as a script for this tool')
        .choices(['k6'])
        .conflicts(['json', 'html', 'steps', 'expect']),
    )
    .option('--html <file>', 'also write the report as a page')
    .option('--quiet', 'no progress on stderr')
    .addHelpText(
      'after',
      `
Examples:
  meltlab attack http://127.0.0.1:3000/ --rate 500 --duration 10s
  meltlab attack http://127.0.0.1:3000/ --users 100 --think 1s --duration 1m
  meltlab attack http://127.0.0.1:3000/ --steps 100,200,400 --expect 'p99<250ms'

  meltlab attack --targets requests.txt --rate 100

URL, headers and bodies may contain fields that differ in each request: {{seq}},
{{random 1 100}}, {{uuid}}, {{timestamp}}, {{word}}, {{sender 50}} and
{{turn 50}} (50 senders round robin, nine digits). \\{{ is a literal {{.

Exit codes: 0 done, 2 bad input, 3 an expectation was missed, 130 Ctrl-C.`,
    )
    .action(attack)
}

/** More steps would amount to a ramp. */
const MOST_STEPS = 100

const rate = (name: string): ((text: string) => number) => numberWithin(name, 0.001, 1_000_000, false)

const rates = (text: string): readonly number[] => {
  const parse = rate('--steps')
  const found = text.split(',').map(parse)
  if (found.length > MOST_STEPS) throw new UserError(`--steps takes at most ${MOST_STEPS} rates, got ${found.length}.`)
  return found
}

const attack = async (url: string | undefined, flags: Flags): Promise<void> => {
  const targets = await targetsOf(url, flags)
  const plans = await plansOf(targets, flags)
  if (targets.note !== undefined) process.stderr.write(`note: ${targets.note}\n`)
  const { servers } = checkedPlans(plans)
  if (flags.export === 'k6') {
    process.stdout.write(k6Script(plans[0]!))
    return
  }
  if (flags.html !== undefined) checkWritableFile(flags.html, '--html')
  for (const server of servers) await preflight(server, plans[0]!)
  const startedAt = new Date().toISOString()
  const { runs, exitCode } = await send(plans, flags.quiet === true)
  const isUnheard = runs.every(({ outcome }) => Object.keys(outcome.answered).length === 0 && outcome.sent > 0)
  for (const { secure, hostname, port } of isUnheard ? servers : []) {
    if (secure || !(await speaksTls(hostname, port))) continue
    throw new UserError(`${hostname}:${port} uses TLS, so nothing was answered: use https://${hostname}:${port}.`)
  }
  const judged = runs.map(run => ({
    ...run,
    judged: (flags.expect ?? []).map(expected => judge(expected, run.plan, run.outcome)),
  }))
  const missed = judged.flatMap(run => run.judged.filter(({ met }) => !met).map(each => ({ run, each })))
  for (const { run, each } of flags.json === true ? missed : []) {
    process.stderr.write(`meltlab: missed at ${offered(run.plan)}: ${judgedText(each)}\n`)
  }
  await deliver(judged, startedAt, flags)
  process.exitCode = exitCode || (missed.length > 0 ? notMet : 0)
}
