/** `meltlab stats`: reads one number per line from stdin, shows a live line, and prints percentiles at the end. */
import type { Command } from 'commander'
import { BoundedLines, LONGEST_LINE, RunningNumbers, short } from '../numbers/running-numbers.ts'
import { onSignal } from '../signals.ts'
import { withoutControls } from '../terminal.ts'
import { UserError } from '../user-error.ts'
import { shortened } from '../words.ts'

/** Interval at which the line on a terminal is rewritten. */
const SHOW_EVERY_MS = 100

interface Flags {
  readonly json?: true
}

export function registerStats(program: Command): void {
  program
    .command('stats')
    .summary('live statistics of the numbers on stdin')
    .description(
      'Reads numbers from stdin, one per line, and updates one line: count, minimum, maximum, mean and latest. At ' +
        'the end, or on Ctrl-C, also the percentiles: exact up to 10,000 numbers, within 0.5 % beyond. Other lines are counted and the first is shown.',
    )
    .option('--json', 'print the figures as one JSON document at the end, and nothing else')
    .addHelpText('after', '\nExample:\n  tail -f latencies.txt | meltlab stats')
    .action((flags: Flags) => stats(flags))
}

async function stats(flags: Flags): Promise<void> {
  const { stdin, stdout, stderr } = process
  if (stdin.isTTY) {
    throw new UserError(
      "stats reads numbers from stdin; pipe them in, for example: vmstat 1 | awk '{print $15}' | meltlab stats",
    )
  }
  const numbers = new RunningNumbers()
  const lines = new BoundedLines(LONGEST_LINE, line => numbers.line(line))
  const live = flags.json !== true && stdout.isTTY === true
  const show = (): void => {
    stdout.write(`\r\x1b[K${numbers.live.slice(0, (stdout.columns ?? 80) - 1)}`)
  }
  const timer = live ? setInterval(show, SHOW_EVERY_MS) : undefined
  const interrupted = await readAll(lines)
  clearInterval(timer)
  if (live) stdout.write('\r\x1b[K')
  if (flags.json === true) {
    stdout.write(`${JSON.stringify({ ...(numbers.figures() ?? { count: 0 }), notNumbers: numbers.notNumbers })}\n`)
  } else {
    stdout.write(`${summary(numbers)}\n`)
  }
  if (numbers.notNumbers > 0) {
    const [what, is] =
      numbers.notNumbers === 1 ? ['line was not a number', 'it is'] : ['lines were not numbers', 'the first is']
    stderr.write(
      `meltlab: ${numbers.notNumbers.toLocaleString('en-US')} ${what}; ${is} '${withoutControls(shortened(numbers.firstBad!))}'\n`,
    )
  }
  if (interrupted !== undefined) process.exitCode = interrupted
  else if (numbers.count === 0) throw new UserError('stdin had no number; expected one per line')
}

/** Reads until the end of stdin, or until a signal, whose exit code it returns. */
function readAll(lines: BoundedLines): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { stdin } = process
    const end = (exitCode: number | undefined): void => {
      lines.end()
      stdin.destroy()
      resolve(exitCode)
    }
    onSignal(({ exitCode }) => end(exitCode))
    stdin.setEncoding('utf8')
    stdin.on('data', (text: string) => lines.add(text))
    stdin.once('end', () => end(undefined))
    stdin.once('error', reject)
  })
}

function summary(numbers: RunningNumbers): string {
  const figures = numbers.figures()
  if (figures === undefined) return numbers.live
  const { p50, p90, p95, p99, p999 } = figures
  const percentiles = { p50, p90, p95, p99, 'p99.9': p999 }
  return `${numbers.live}\n${Object.entries(percentiles)
    .map(([name, value]) => `${name}: ${short(value)}`)
    .join(' ')}`
}
