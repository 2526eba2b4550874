/** Measures how many operations a second an interval timer really gives: Node, Go, and the scheduler of this lab. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { pinned } from '../launch/core-pinning.ts'
import { appFile } from '../experiment/app-file.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { type TickLog, tickFigures, type TicksMeasured } from './ticks-figures.ts'
import { arms, ticksExpects, ticksPublished, ticksView } from './ticks-view.ts'

const conditions = ['free', 'pinned'] as const
/** The published rates. */
const RATES = [1, 2, 4, 10, 100, 1000]
const compileTimeoutMs = 120_000

export const ticks: Scenario<unknown> = scenario<TicksMeasured>({
  name: 'ticks',
  title: 'An interval timer does not keep its rate',
  story: 'A program asks for 1 to 1000 operations a second with an interval timer, and counts what it got.',
  published: ticksPublished,
  arms,
  expects: ticksExpects,
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
      for (const rate of context.pick({ brief: [100, 1000], quick: RATES, full: RATES })) {
        for (const arm of arms) {
          const command = commands[arm.name]
          if (command === undefined) continue
          context.status(`${arm.name}, ${condition}: ${rate}/s`)
          // The extra half interval keeps chance from deciding whether the operation due at the very end counts.
          const lengthMs = context.pick({ brief: 400, quick: 4000, full: 20_000 }) + Math.round(500 / rate)
          const log = await tick(
            context,
            condition === 'free' ? anywhere(context, command) : pinned(command, core),
            rate,
            lengthMs,
          )
          measured.runs.push({ arm: arm.name, condition, rate, ...tickFigures(log, rate) })
        }
      }
    }
  },
  view: ticksView,
})

/** Compiles once; without Go the arm is omitted. */
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

/** The environment for Go's build cache. Go has a default cache, which saves compile time, only if HOME is set. */
function goCache(folder: string): NodeJS.ProcessEnv {
  const { HOME, LocalAppData, XDG_CACHE_HOME } = process.env
  return HOME === undefined && LocalAppData === undefined && XDG_CACHE_HOME === undefined
    ? { GOCACHE: path.join(folder, 'cache') }
    : {}
}

/** Undoes the pinning of the lab to its core, which children inherit. */
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
