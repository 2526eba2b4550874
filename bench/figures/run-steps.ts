/** Runs steps one after another and records in a file which have ended, so that the next run continues after them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { busyNow } from '../../packages/lab/src/processes/core-times.ts'
import { MAX_FOREIGN_CORES, watchForeign } from '../../packages/lab/src/processes/foreign-cpu.ts'
import { writeWhole } from '../../packages/lab/src/write-whole.ts'
import { certify, minutesOf, type State } from './plan.ts'
import type { Step } from './steps.ts'

/** Processes that a step has left behind may run for some more seconds. */
const QUIET_WITHIN_S = 30

export interface Place {
  /** Root of the repository. */
  readonly root: string
  readonly stateFile: string
  readonly commit: string
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  /** Why figures of speed cannot be measured now. By default, the load of the cores decides. */
  readonly whyBusy?: () => Promise<string | undefined>
}

export function readState(file: string, commit: string): State {
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as State) : undefined
  return kept?.commit === commit ? kept : { commit, steps: {} }
}

/** @throws Error when a step fails, or the machine is busy. Steps that ended before stay recorded. */
export async function runSteps(steps: readonly Step[], place: Place): Promise<void> {
  const { root, stateFile, commit, signal, say, whyBusy = () => whyMachineBusy(signal) } = place
  for (const [at, step] of steps.entries()) {
    signal.throwIfAborted()
    const why = step.untimed ? undefined : await whyBusy()
    if (why !== undefined) throw new Error(`${step.name} was not begun: ${why}`)
    say(
      `== ${step.name} (${at + 1} of ${steps.length}), about ${step.minutes} min of ${forMinutes(steps.slice(at))} left`,
    )
    const state = readState(stateFile, commit)
    if (state.steps[step.name] === undefined) {
      for (const path of step.leftovers ?? []) rmSync(join(root, path), { force: true })
    }
    const begun = state.steps[step.name]?.begun ?? new Date().toISOString()
    keep(stateFile, { commit, steps: { ...state.steps, [step.name]: { begun } } })
    const startedMs = performance.now()
    const watching = watchForeign(cpus().map((_, core) => core))
    const code = await shell(step.run.map(each => `{ ${each}; }`).join(' && '), root)
    const foreign = (await watching.stop()) ?? null
    // Ctrl-C in a terminal may end the step before this process handles the signal.
    if (code !== 0) await sleep(500)
    signal.throwIfAborted()
    if (code !== 0) throw new Error(`${step.name} ended with ${code}`)
    for (const file of step.untimed ? [] : globSync([...step.results], { cwd: root })) {
      if (!file.endsWith('.json')) continue
      const text = readFileSync(join(root, file), 'utf8')
      const certified = certify(JSON.parse(text), commit, foreign, MAX_FOREIGN_CORES)
      const indent = /^\{\n( +)/.exec(text)?.[1]?.length
      writeFileSync(join(root, file), `${JSON.stringify(certified, null, indent)}\n`)
    }
    const tookS = Math.round((performance.now() - startedMs) / 1000)
    keep(stateFile, { commit, steps: { ...readState(stateFile, commit).steps, [step.name]: { begun, tookS } } })
    const isDisturbed = !step.untimed && foreign !== null && foreign.mean > MAX_FOREIGN_CORES
    say(
      `== ${step.name} took ${tookS} s${isDisturbed ? `; others used ${foreign.mean.toFixed(2)} cores meanwhile` : ''}`,
    )
  }
}

export const forMinutes = (steps: readonly Step[]): string => {
  const minutes = Math.ceil(minutesOf(steps))
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Why the machine is too busy; undefined if it is quiet. Measures every core, like a scenario of the lab. */
export async function whyMachineBusy(signal: AbortSignal, withinS = QUIET_WITHIN_S): Promise<string | undefined> {
  for (let second = 1; ; second += 2) {
    const busy = (await busyNow(1000, signal)) ?? []
    const worst = Math.max(0, ...busy)
    if (worst < MAX_FOREIGN_CORES) return undefined
    const core = `core ${busy.indexOf(worst)} was ${Math.round(100 * worst)} % busy`
    if (second >= withinS)
      return `the machine is not quiet: ${core} with something else, and no second of ${withinS} s was quiet`
    await sleep(1000, undefined, { signal })
  }
}

async function shell(script: string, cwd: string): Promise<number | string> {
  const child = spawn('sh', ['-c', script], { cwd, stdio: 'inherit' })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return code ?? signal ?? 'nothing'
}

function keep(file: string, state: State): void {
  mkdirSync(dirname(file), { recursive: true })
  writeWhole(file, `${JSON.stringify(state, null, 1)}\n`)
}
