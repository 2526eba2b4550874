/**
 * One melt run from start to end: checks every arm, finds the bare app's capacity, offers multiples of it to each arm,
 * each from a cold start, and measures the capacity again. It returns a result whatever happens; when the run was cut
 * short, by an error or by Ctrl-C, the result holds what was measured until then.
 */
import { performance } from 'node:perf_hooks'
import type { LoadOutcome, LoadPlan, LoadProgress } from '../load/plan.ts'
import { runLoad } from '../load/run.ts'
import { reasonsToDoubt } from '../report/certify.ts'
import { formatMs, formatMultiple, formatPercent, formatRate } from '../report/format.ts'
import type { Capacity, Conditions, MeltResult, StepResult } from '../report/result.ts'
import { rowsOf, summariseStep, windowOf } from '../report/summary.ts'
import { UserError } from '../user-error.ts'
import { busyNow, busyShare, readCores } from '../processes/core-times.ts'
import { watch } from '../processes/watch-usage.ts'
import { type App, launch } from '../launch/command.ts'
import { type Arm, armEnvironment } from './arms.ts'
import { type CapacityContext, type CapacityTimes, remeasureCapacity, searchCapacity } from './capacity.ts'
import { offer, type Target } from './load-plans.ts'
import { calibrateSpin, describeMachine, spinVariable } from '../launch/machine.ts'
import { type Pinning, pinned, pinSelf } from '../launch/core-pinning.ts'
import { bar, type Progress } from '../progress.ts'
import { type Ask, checkAnswers, quote, waitUntilListening } from '../launch/wait-until-listening.ts'

export interface MeltPlan {
  readonly name: string
  readonly commandLine: string
  readonly labVersion: string
  readonly arms: readonly Arm[]
  readonly multiples: readonly number[]
  readonly rounds: number
  readonly durationMs: number
  readonly capacityTimes: CapacityTimes
  readonly startTimeoutMs: number
  /** Where the command listens, when the user says so. */
  readonly url: URL | undefined
  readonly path: string
  readonly request: Ask
  /** All of the target but its URL, which is known once the command listens. */
  readonly target: Omit<Target, 'url' | 'method' | 'headers' | 'body'>
  readonly pinning: Pinning | undefined
  /** PORT for the command, unless the environment sets one already. */
  readonly port: number | undefined
  /** Refuse to start on a busy machine instead of saying so in the result. */
  readonly strict: boolean
}

export interface MeltEnd {
  readonly result: MeltResult
  /** Why the run ended early: an error, or the reason of the aborted signal. */
  readonly failure: unknown
}

/** A core that was busier than this before we started is somebody else's too. */
const quietBelow = 0.1

export async function runMelt(plan: MeltPlan, progress: Progress, signal: AbortSignal): Promise<MeltEnd> {
  const run = new MeltRun(plan, progress, signal)
  let failure: unknown
  try {
    await run.everything()
  } catch (error) {
    failure = signal.aborted ? signal.reason : error
  }
  progress.clear()
  return { result: run.result(failure), failure }
}

class MeltRun {
  readonly #plan: MeltPlan
  readonly #progress: Progress
  readonly #signal: AbortSignal
  readonly #startedAt = new Date()
  readonly #startedMs = performance.now()
  readonly #steps: StepResult[] = []
  readonly #probes: Capacity['probes'][number][] = []
  #capacity: Capacity | null = null
  #busyBefore: Conditions['busyBefore'] = null
  #spinBefore: number | null = null
  #spinAfter: number | null = null
  readonly #noted = new Set<string>()

  constructor(plan: MeltPlan, progress: Progress, signal: AbortSignal) {
    this.#plan = plan
    this.#progress = progress
    this.#signal = signal
  }

  async everything(): Promise<void> {
    const { arms, multiples, rounds, pinning } = this.#plan
    if (pinning !== undefined) pinSelf(pinning.lab)
    await this.#checkQuiet()
    this.#spinBefore = await calibrateSpin(pinning?.server)

    const bare = arms[0]!
    for (const arm of arms) await this.#withApp(arm, async () => {})
    await this.#withApp(bare, (app, url) => this.#findCapacity(app, url))

    for (let round = 1; round <= rounds; round++) {
      for (const multiple of multiples) {
        // The arms take turns at each load, so that a machine that changes meanwhile changes for all of them.
        for (const arm of arms) await this.#step(arm, multiple, round)
      }
    }
    await this.#withApp(bare, (app, url) => this.#findCapacityAgain(app, url))
    this.#spinAfter = await calibrateSpin(pinning?.server)
  }

  async #checkQuiet(): Promise<void> {
    const { pinning, strict } = this.#plan
    this.#progress.status('checking that the machine is quiet')
    const busy = await busyNow(1000, this.#signal)
    if (busy === undefined || pinning === undefined) return
    this.#busyBefore = { server: busy[pinning.server] ?? 0, lab: busy[pinning.lab] ?? 0 }
    const worst = Math.max(this.#busyBefore.server, this.#busyBefore.lab)
    if (worst < quietBelow) return
    const what = `something else kept a core of this run ${formatPercent(worst)} busy in the second before it started`
    if (strict) throw new UserError(`${what}; end it, or leave out --strict`)
    this.#progress.line(`warning: ${what}; the figures will be worse than the app is`)
  }

  /** Starts an arm, checks that it answers, and ends it whatever `use` did. */
  async #withApp(arm: Arm, use: (app: App, url: URL) => Promise<void>): Promise<void> {
    this.#progress.status(`starting ${arm.name}`)
    const { app, url } = await this.#start(arm)
    try {
      await checkAnswers(app, url, this.#plan.request, this.#plan.target.timeoutMs)
      await use(app, url)
    } catch (error) {
      throw this.#toldAs(arm, error)
    } finally {
      await app.stop()
    }
  }

  /** Errors of the user's own command need no name; those of another arm do. */
  #toldAs(arm: Arm, error: unknown): unknown {
    if (!(error instanceof UserError) || arm.kind === 'bare' || this.#signal.aborted) return error
    return new UserError(`${arm.name}: ${error.message}`, error.exitCode)
  }

  async #start(arm: Arm): Promise<{ app: App; url: URL }> {
    const { pinning, port, startTimeoutMs, url, path } = this.#plan
    this.#signal.throwIfAborted()
    const shared: Record<string, string> = {}
    if (port !== undefined) shared.PORT = String(port)
    if (this.#spinBefore !== null) shared[spinVariable] = String(this.#spinBefore)
    const app = await launch({
      command: pinned(arm.command, pinning?.server),
      env: armEnvironment(arm, process.env, shared),
    })
    try {
      const preferredPort = port ?? (Number(process.env.PORT) || undefined)
      const ready = await waitUntilListening(app, { url, preferredPort, startTimeoutMs, signal: this.#signal })
      if (ready.note !== undefined) this.#noteOnce('ports', ready.note)
      return { app, url: new URL(path, ready.origin) }
    } catch (error) {
      await app.stop()
      throw this.#toldAs(arm, error)
    }
  }

  async #findCapacity(app: App, url: URL): Promise<void> {
    this.#progress.status('finding the capacity: warming up')
    const found = await searchCapacity(this.#capacityContext(app, url))
    this.#capacity = {
      rate: found.rate,
      before: found.rate,
      after: null,
      drift: null,
      users: found.users,
      latencyP50Ms: found.latencyP50Ms,
      probes: this.#probes,
    }
    const { multiples, arms, rounds } = this.#plan
    const answer = found.latencyP50Ms === null ? '' : `, ${formatMs(found.latencyP50Ms)} an answer`
    this.#progress.line(
      `capacity ${formatRate(found.rate)}/s with ${found.users} ${found.users === 1 ? 'user' : 'users'}${answer}; ` +
        `${multiples.length * arms.length * rounds} steps, about ${this.#estimate()}`,
    )
  }

  async #findCapacityAgain(app: App, url: URL): Promise<void> {
    this.#progress.status('measuring the capacity again')
    const before = this.#capacity!
    const again = await remeasureCapacity(this.#capacityContext(app, url), before.users)
    const drift = again.rate / before.before - 1
    this.#capacity = { ...before, after: again.rate, drift, rate: Math.max(before.before, again.rate) }
    this.#progress.line(`capacity again ${formatRate(again.rate)}/s`)
  }

  #capacityContext(app: App, url: URL): CapacityContext {
    return {
      target: this.#target(url),
      times: this.#plan.capacityTimes,
      run: async plan => {
        const outcome = await this.#load(plan)
        if (app.exit !== undefined) {
          const words = quote(app.lastWords())
          throw new UserError(`the command ${howItEnded(app)} while its capacity was measured${words}`)
        }
        return outcome
      },
      onProbe: probe => {
        this.#probes.push(probe)
        this.#progress.status(`finding the capacity: ${probe.users} users, ${formatRate(probe.goodput)}/s`)
      },
    }
  }

  /** A run that was aborted hands back half a probe; nothing may be concluded from it. */
  async #load(plan: LoadPlan): Promise<LoadOutcome> {
    const outcome = await runLoad(plan, { signal: this.#signal })
    this.#signal.throwIfAborted()
    return outcome
  }

  async #step(arm: Arm, multiple: number, round: number): Promise<void> {
    const { durationMs, pinning } = this.#plan
    const rate = multiple * this.#capacity!.before
    const label = `${arm.name.padEnd(this.#nameWidth())} ${formatMultiple(multiple).padStart(4)}`
    this.#progress.status(`${label}  starting`)
    const { app, url } = await this.#start(arm)
    const coresBefore = await readCores()
    const watching = watch(app.pid)
    const startedMs = performance.now()
    let died: StepResult['server']['died'] = null
    let ending = false
    void app.exited.then(() => {
      if (!ending) died = { afterMs: Math.round(performance.now() - startedMs), how: howItEnded(app) }
    })
    try {
      const live = liveLine(label, rate, durationMs)
      const outcome = await runLoad(offer(this.#target(url), rate, durationMs), {
        signal: this.#signal,
        onProgress: seen => this.#progress.status(live(seen)),
      })
      const coresAfter = await readCores()
      const watched = await watching.stop()
      ending = true
      const foreign =
        coresBefore === undefined || coresAfter === undefined || pinning === undefined
          ? null
          : Math.max(0, busyShare(coresBefore, coresAfter, pinning.server) - watched.cpuMs / watched.watchedMs)
      const window = windowOf(durationMs)
      const step = summariseStep({
        arm: arm.name,
        multiple,
        round,
        window,
        sloMs: this.#plan.target.sloMs,
        outcome,
        watched,
        died,
        foreign,
      })
      this.#steps.push(step)
      this.#progress.line(`${label}  ${stepLine(step, this.#capacity!.before)}`)
    } finally {
      ending = true
      await watching.stop()
      await app.stop()
    }
    this.#signal.throwIfAborted()
  }

  #target(url: URL): Target {
    return { ...this.#plan.request, ...this.#plan.target, url: url.href }
  }

  #nameWidth(): number {
    return Math.max(...this.#plan.arms.map(arm => arm.name.length))
  }

  /** The same thing is noticed at every start, with other figures in it. */
  #noteOnce(topic: string, note: string): void {
    if (this.#noted.has(topic)) return
    this.#noted.add(topic)
    this.#progress.line(`note: ${note}`)
  }

  /** Every step costs its duration and a start; those above capacity may also wait for the last requests to time out. */
  #estimate(): string {
    const { multiples, arms, rounds, durationMs, target, capacityTimes } = this.#plan
    const startMs = 700
    const melting = multiples.filter(multiple => multiple > 1).length * (arms.length - 1)
    const steps = multiples.length * arms.length * (durationMs + startMs) + melting * target.timeoutMs
    const seconds = (rounds * steps + capacityTimes.warmUpMs + capacityTimes.confirmMs) / 1000
    return seconds < 90 ? `${Math.round(seconds / 5) * 5} s` : `${(seconds / 60).toFixed(1)} min`
  }

  result(failure: unknown): MeltResult {
    const plan = this.#plan
    const capacity = this.#capacity
    const names = plan.arms.map(arm => arm.name)
    const known = {
      kind: 'melt',
      version: 1,
      name: plan.name,
      startedAt: this.#startedAt.toISOString(),
      elapsedMs: Math.round(performance.now() - this.#startedMs),
      incomplete: failure !== undefined,
      conditions: this.#conditions(),
      capacity,
      arms: plan.arms.map(arm => ({
        name: arm.name,
        kind: arm.kind,
        command: arm.command.join(' '),
        nodeOptions: arm.nodeOptions ?? null,
      })),
      steps: this.#steps,
      rows: capacity === null ? [] : rowsOf(this.#steps, names, capacity.rate),
    } as const
    const why = reasonsToDoubt(known)
    if (failure !== undefined) why.unshift(`the run was cut short: ${firstLine(failure)}`)
    return { ...known, certified: why.length === 0, why }
  }

  #conditions(): Conditions {
    const { pinning, request, path, target, durationMs, rounds, commandLine, labVersion } = this.#plan
    return {
      commandLine,
      labVersion,
      ...describeMachine(),
      pinning: pinning ?? null,
      busyBefore: this.#busyBefore,
      spinPerMs: { before: this.#spinBefore, after: this.#spinAfter },
      request: `${request.method} ${path}`,
      sloMs: target.sloMs,
      timeoutMs: target.timeoutMs,
      durationMs,
      rounds,
      spacing: target.spacing,
      connections: target.fresh
        ? 'a new connection for every request'
        : target.connections === undefined
          ? 'keep-alive, 200 to 1,500 standing connections by rate, more when they are all busy'
          : `keep-alive, ${target.connections} standing connections, more when they are all busy`,
      window: windowOf(durationMs),
    }
  }
}

function howItEnded(app: App): string {
  const { code, signal } = app.exit!
  return signal === null ? `exited with code ${code}` : `was ended by ${signal}`
}

function firstLine(failure: unknown): string {
  const text = failure instanceof Error ? failure.message : String(failure)
  return text.split('\n')[0]!
}

function liveLine(label: string, rate: number, durationMs: number): (seen: LoadProgress) => string {
  let before = { good: 0, elapsedMs: 0 }
  return seen => {
    const lengthS = (seen.elapsedMs - before.elapsedMs) / 1000
    const goodput = lengthS > 0 ? (seen.good - before.good) / lengthS : 0
    before = seen
    const at = Math.min(seen.elapsedMs, durationMs)
    return `${label}  ${bar(at / durationMs, 12)} ${(at / 1000).toFixed(0)}/${durationMs / 1000} s  offered ${formatRate(rate)}/s  goodput ${formatRate(goodput)}/s  in flight ${seen.inflight}`
  }
}

function stepLine(step: StepResult, capacity: number): string {
  const parts = [
    `offered ${formatRate(step.offered)}/s`,
    `goodput ${formatRate(step.goodput)}/s (${formatPercent(step.goodput / capacity)} of capacity)`,
    `p99 ${formatMs(step.admittedMs.p99)}`,
  ]
  if (step.shed > 0) parts.push(`shed ${formatRate(step.shed)}/s`)
  const errors = Object.entries(step.failedByCode).map(([code, count]) => `${count} ${code}`)
  if (errors.length > 0) parts.push(errors.join(', '))
  if (step.server.died !== null) parts.push(`the process ${step.server.died.how}`)
  if (step.incomplete) parts.push('cut short')
  return parts.join(', ')
}
