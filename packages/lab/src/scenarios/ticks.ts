/** How many operations a second an interval timer really gives: Node, Go, and the scheduler of this lab. */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { pinned } from '../launch/core-pinning.ts'
import { formatMs } from '../report/format.ts'
import type { ScenarioArm, Standing, View } from '../report/result.ts'
import { tableOf } from '../report/tables.ts'
import { appFile } from '../experiment/app-file.ts'
import { expectation } from '../experiment/expectation.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'
import { type Context, type Expectation, type Scenario, scenario } from '../experiment/scenario.ts'
import { type TickLog, type TickRun, tickFigures } from './ticks-figures.ts'

interface Measured {
  readonly runs: TickRun[]
  /** Why there is no Go arm; null when there is. */
  goMissing: string | null
}

const arms: readonly ScenarioArm[] = [
  { name: 'Node setInterval', kind: 'bare', what: 'one setInterval(operation, 1000 / rate)' },
  { name: 'Go ticker', kind: 'also', what: 'one time.NewTicker(time.Second / rate); needs go on the PATH' },
  { name: 'meltlab', kind: 'protected', what: "this lab's load schedule: every operation has a time it is due at" },
]
const conditions = ['free', 'pinned', 'pinned, busy core'] as const
const compileTimeoutMs = 120_000

export const ticks: Scenario<unknown> = scenario<Measured>({
  name: 'ticks',
  title: 'An interval timer does not keep its rate',
  story: 'A program asks for 1 to 1000 operations a second with an interval timer, and counts what it got.',
  published: [
    { what: 'asked for 1000/s, Node', value: '450/s (2.2 ms per operation); pinned to one core 740/s' },
    { what: 'asked for 1000/s, Go', value: '650/s; pinned to one core 1000/s' },
  ],
  arms,
  expects: expectations(),
  blank: () => ({ runs: [], goMissing: null }),
  async run(context, measured) {
    const go = await compileGo(context)
    if (go.program === undefined) {
      measured.goMissing = go.why
      context.line(`no Go arm: ${go.why}`)
    }
    const commands: Readonly<Record<string, readonly string[] | undefined>> = {
      'Node setInterval': [process.execPath, appFile('ticks.js')],
      'Go ticker': go.program === undefined ? undefined : [go.program],
      meltlab: [process.execPath, appFile('ticks-scheduler.js')],
    }
    const core = context.cores?.server
    for (const condition of conditions) {
      if (condition !== 'free' && core === undefined) {
        context.doubt('programs can not be pinned to a core here: taskset and two cores are needed')
        continue
      }
      // It never lets go of the core; the scheduler of the operating system shares it out.
      const neighbour = { name: 'a busy loop', run: 'busy-loop.js', core: 'server', listens: false } as const
      const busy = condition === 'pinned, busy core' ? await context.start(neighbour) : undefined
      for (const rate of context.pick({
        brief: [100, 1000],
        quick: [1, 10, 100, 1000],
        full: [1, 2, 4, 10, 100, 1000],
      })) {
        for (const arm of arms) {
          const command = commands[arm.name]
          if (command === undefined) continue
          context.status(`${arm.name}, ${condition}: ${rate}/s`)
          const lengthMs = context.pick({ brief: 400, quick: 2000, full: 20_000 })
          const log = await tick(
            context,
            condition === 'free' ? anywhere(context, command) : pinned(command, core),
            rate,
            lengthMs,
          )
          measured.runs.push({ arm: arm.name, condition, rate, ...tickFigures(log, rate) })
        }
      }
      await busy?.stop()
    }
  },
  view,
})

/** Compiles once; on a machine without Go the arm is left out. */
async function compileGo(context: Context): Promise<{ program: string | undefined; why: string }> {
  const folder = temporaryFolder(context, 'ticks')
  const program = path.join(folder, 'ticks')
  try {
    context.status('compiling ticks.go')
    await promisify(execFile)('go', ['build', '-o', program, appFile('ticks.go')], {
      timeout: compileTimeoutMs,
      signal: context.signal,
      env: { ...goCache(folder), ...process.env, GO111MODULE: 'off', CGO_ENABLED: '0' },
    })
    return { program, why: '' }
  } catch (error) {
    context.signal.throwIfAborted()
    const { code, message } = error as NodeJS.ErrnoException
    return {
      program: undefined,
      why: code === 'ENOENT' ? 'go is not on the PATH' : `go could not build it (${message})`,
    }
  }
}

/** Go's own, in which most of it is compiled already; without a home it has none. */
function goCache(folder: string): NodeJS.ProcessEnv {
  const { HOME, LocalAppData, XDG_CACHE_HOME } = process.env
  return HOME === undefined && LocalAppData === undefined && XDG_CACHE_HOME === undefined
    ? { GOCACHE: path.join(folder, 'cache') }
    : {}
}

/** The lab is pinned to a core, and its children would inherit that. */
function anywhere({ cores }: Context, command: readonly string[]): readonly string[] {
  return cores === undefined ? command : ['taskset', '-c', `0-${Math.max(...Object.values(cores))}`, ...command]
}

function tick(context: Context, command: readonly string[], rate: number, lengthMs: number): Promise<TickLog> {
  return new Promise((resolve, reject) => {
    const [file, ...rest] = command
    const env = { ...process.env, RATE: String(rate), LENGTH_MS: String(lengthMs) }
    execFile(file!, rest, { env, signal: context.signal, maxBuffer: 1 << 26 }, (error, stdout) => {
      if (context.signal.aborted) reject(context.signal.reason)
      else if (error !== null) reject(error)
      else resolve(JSON.parse(stdout) as TickLog)
    })
  })
}

function runOf({ runs }: Measured, arm: string, condition: string, rate: number): TickRun | undefined {
  return runs.find(run => run.arm === arm && run.condition === condition && run.rate === rate)
}

/** An operation this near to where it was due is on time. */
const onTimeMs = 1

function expectations(): readonly Expectation<Measured>[] {
  const at1000 = (arm: string) => (measured: Measured) => runOf(measured, arm, 'free', 1000)
  return [
    expectation(
      'Node setInterval: at 1000/s the timer drifts, an operation is more than 5 ms from where it was due',
      at1000('Node setInterval'),
      run => [run.lateP99Ms > 5, `p99 ${formatMs(run.lateP99Ms)}, ${run.achieved.toFixed(0)}/s`],
    ),
    expectation(
      'meltlab: at 1000/s all operations run, 99 of 100 within 1 ms of where they were due',
      at1000('meltlab'),
      ({ achieved, lateP99Ms }) => [
        achieved >= 995 && lateP99Ms <= onTimeMs,
        `${achieved.toFixed(1)}/s, p99 ${formatMs(lateP99Ms)}`,
      ],
    ),
    expectation(
      'everybody keeps up to 100/s on a free machine',
      ({ runs }) => {
        const free = runs.filter(run => run.condition === 'free' && run.rate === 100)
        return free.length === 0 ? undefined : Math.min(...free.map(run => run.achieved))
      },
      worst => [worst >= 95, `at least ${worst.toFixed(1)}/s`],
    ),
  ]
}

function view(measured: Measured): View {
  const { runs, goMissing } = measured
  const there = arms.filter(arm => runs.some(run => run.arm === arm.name))
  const at1000 = (arm: string): TickRun | undefined => runOf(measured, arm, 'free', 1000)
  const [node, go, lab] = ['Node setInterval', 'Go ticker', 'meltlab'].map(at1000)
  const said = (who: string, run: TickRun | undefined): string[] =>
    run === undefined
      ? []
      : [`${who} ${run.achieved.toFixed(0)}/s, ${formatMs(run.lateP99Ms)} from where they were due (p99)`]
  return {
    standings: there.flatMap(({ name }): Standing[] => {
      const run = at1000(name)
      if (run === undefined) return []
      const tone = run.lateP99Ms <= onTimeMs ? 'good' : 'bad'
      const says = tone === 'good' ? 'keeps its times' : 'drifts'
      return [{ arm: name, says, tone, figure: formatMs(run.lateP99Ms), of: 'off at 1000/s, p99' }]
    }),
    finding:
      node === undefined
        ? `${runs.length} runs were measured before the end.`
        : `Asked for 1000 operations a second: ${[...said('Node', node), ...said('Go', go), ...said('meltlab', lab)].join('; ')}.`,
    plots: conditions
      .filter(condition => runs.some(run => run.condition === condition))
      .map(condition => ({
        kind: 'bars' as const,
        title: `How far operations are from where they were due, p99: ${condition}`,
        ...(goMissing === null ? {} : { note: `No Go: ${goMissing}.` }),
        y: { label: 'off by', unit: 'ms' as const, scale: 'log' as const },
        groups: [...new Set(runs.map(run => run.rate))].map(rate => ({
          label: `${rate}/s`,
          bars: there.flatMap(({ name }) => {
            const run = runOf(measured, name, condition, rate)
            return run === undefined || Number.isNaN(run.lateP99Ms) ? [] : [{ arm: name, value: run.lateP99Ms }]
          }),
        })),
      })),
    tables: conditions
      .filter(condition => runs.some(run => run.condition === condition))
      .map(condition =>
        tableOf(
          {
            title: `Operations a second: ${condition}`,
            note: `${availableParallelism()} cores. Off by: the distance of an operation from where it was due, counted from the start.`,
          },
          runs.filter(run => run.condition === condition),
          [
            ['asked for', run => `${run.rate}/s`],
            ['who', run => run.arm],
            ['got', run => `${run.achieved.toFixed(1)}/s`],
            ['share', run => `${((100 * run.achieved) / run.rate).toFixed(1)} %`],
            ['off by p50', run => formatMs(run.lateP50Ms)],
            ['off by p99', run => formatMs(run.lateP99Ms)],
          ],
        ),
      ),
  }
}
