/** The melt experiment: finds the bare app's capacity, and offers multiples of it to each arm after a cold start. */
import { type Context, type RunningApp, type Scenario, scenario } from '../experiment/scenario.ts'
import { freePort } from '../launch/free-port.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { registerUrl } from '../launch/register-url.ts'
import { checkAnswers } from '../launch/wait-until-listening.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { runLoad } from '../load/run.ts'
import { watchSpeed } from '../launch/core-speed.ts'
import { busyNow } from '../processes/core-times.ts'
import { MAX_FOREIGN_CORES } from '../processes/foreign-cpu.ts'
import { formatList, formatMs, formatMultiple, formatPercent, formatRate } from '../report/format.ts'
import type { Form } from '../report/result.ts'
import { bar, liveLine } from '../progress.ts'
import { plural } from '../words.ts'
import { keptOf, toneOf } from '../report/standing.ts'
import { type Arm, namedArms } from './arms.ts'
import { type CapacityContext, ownDriftOf, remeasureCapacity, searchCapacity, warmUpCode } from './capacity.ts'
import type { Dependency } from './dependency.ts'
import { reasonsToDoubt } from './doubts.ts'
import { LEVELS, mostHeld, nextLevel, shapeOf } from './limits.ts'
import { startProtectionCheck } from './protection-check.ts'
import { offer, offerable, type Target } from './load-plans.ts'
import type { Limit, MeltMeasured, MeltSetup, Recovery, RecoveryShape, StepResult } from './measured.ts'
import { UNSTEADY, whyNoVerdict } from './no-verdict.ts'
import type { MeltOptions } from './options.ts'
import { backInWords, lengthMs, recoveryOf, recoveryPlan, spikeInWords } from './recovery.ts'
import { Silencer } from './silence.ts'
import { type ServerCore, underLoad } from './step.ts'
import { rowsOf, summariseStep, whyUnjudged, windowOf } from './summary.ts'
import { meltView } from './view.ts'

/** Variations of the usual load, which offers one route at multiples of its own capacity. */
export interface LoadShape {
  /** The path for measuring the capacity. @default the offered path */
  readonly capacityPath?: string
  /** Requests per second, if the capacity cannot be measured. */
  readonly capacity?: number
  /** The maximum share of requests that can be goodput. @default 1 */
  readonly goodShare?: number
  /** A second route that gets a constant rate in addition. */
  readonly beside?: { readonly path: string; readonly rate: number }
  /** Multiples above this rate are omitted, because the generator could not send them. */
  readonly mostRate?: number
  /**
   * True if the simulated clients, each with its own connection, need more connections than this machine can open;
   * see `newestFirst` in load/plan.ts.
   */
  readonly crowd?: true
}

export interface MeltExperiment
  extends Pick<Scenario<MeltMeasured>, 'name' | 'title' | 'story' | 'published' | 'kept' | 'needs'>,
    Partial<Pick<Scenario<MeltMeasured>, 'expects' | 'view'>> {
  readonly arms: readonly Arm[]
  readonly options: (form: Form) => MeltOptions
  readonly shape?: LoadShape
  /** Runs first; returns the environment that every app needs. */
  readonly prepare?: (context: Context, measured: MeltMeasured) => Promise<Readonly<Record<string, string>>>
  /** If set, recovery limits are searched, with this many seconds for each recovery. */
  readonly limitsWithinS?: number
  /** The dependency that is also silenced; needs limitsWithinS. */
  readonly dependency?: Dependency | undefined
}

export function meltScenario(experiment: MeltExperiment): Scenario<unknown> {
  const { arms, options, expects = [], shape = {}, prepare, view, limitsWithinS, dependency, ...head } = experiment
  return scenario<MeltMeasured>({
    ...head,
    expects,
    resumes: true,
    arms: namedArms(arms),
    blank: () => ({
      setup: setupOf(options('quick')),
      capacity: null,
      spinPerMs: { before: null, after: null },
      steps: [],
      rows: [],
      ...(shape.beside === undefined ? {} : { beside: [] }),
      ...(limitsWithinS === undefined ? {} : { limits: [] }),
    }),
    run: async (context, measured) => {
      const chosen = options(context.form)
      measured.setup = setupOf(chosen)
      const silencer = dependency && (await Silencer.before(dependency, context))
      const env = { ...(await prepare?.(context, measured)), ...silencer?.env }
      await checkQuiet(context)
      const speed = watchSpeed(context.cores?.server, () =>
        context.doubt('the speed of the server’s core was not measured to the end'),
      )
      const server = { core: context.cores?.server, speed }
      const melt = new Melt(context, { options: chosen, shape, env, arms, limitsWithinS, silencer, server }, measured)
      try {
        await melt.everything()
      } finally {
        speed.stop()
        for (const doubt of reasonsToDoubt(measured)) context.doubt(doubt)
      }
    },
    view: view ?? (measured => meltView(measured, arms)),
  })
}

function setupOf(options: MeltOptions): MeltSetup {
  const { method, path, spacing, fresh, connections } = options
  const { sloMs, timeoutMs, durationMs, rounds, afterWindowMs } = options
  const standing =
    connections === undefined ? '200 to 1,500 standing connections by rate' : `${connections} standing connections`
  return {
    request: `${method} ${path}, ${spacing === 'even' ? 'evenly spaced' : 'Poisson'} arrivals, open loop`,
    connections: fresh ? 'a new connection for every request' : `keep-alive, ${standing}, more when they are all busy`,
    sloMs,
    timeoutMs,
    durationMs,
    rounds,
    spacing,
    window: windowOf(durationMs, afterWindowMs),
  }
}

interface MeltParts {
  readonly options: MeltOptions
  readonly shape: LoadShape
  readonly arms: readonly Arm[]
  readonly env: Readonly<Record<string, string>>
  readonly limitsWithinS: number | undefined
  readonly silencer: Silencer | undefined
  readonly server: ServerCore
}

async function checkQuiet({ cores, signal, status, line, doubt }: Context): Promise<void> {
  status('checking that the machine is quiet')
  const busy = await busyNow(1000, signal)
  if (busy === undefined || cores === undefined) return
  const worst = Math.max(busy[cores.server] ?? 0, busy[cores.lab] ?? 0)
  if (worst < MAX_FOREIGN_CORES) return
  const what = `another process kept a core of this run ${formatPercent(worst)} busy in the second before it started`
  line(`warning: ${what}; the app will look worse than it is`)
  doubt(what)
}

class Melt {
  readonly #context: Context
  readonly #parts: MeltParts
  readonly #measured: MeltMeasured
  #port = ''

  constructor(context: Context, parts: MeltParts, measured: MeltMeasured) {
    this.#context = context
    this.#parts = parts
    this.#measured = measured
  }

  async everything(): Promise<void> {
    const { rounds, recovery: shape } = this.#parts.options
    const { core } = this.#parts.server
    this.#port = process.env['PORT'] ?? String(await freePort())
    const bare = this.#parts.arms[0]!
    if (this.#measured.capacity === null) {
      this.#measured.spinPerMs = { before: await calibrateSpin(core), after: null }
      for (const arm of this.#parts.arms) await this.#tryOut(arm)
      this.#parts.silencer?.checkUsed()
      await this.#withApp(bare, (app, url) => this.#findCapacity(app, url))
      this.#context.checkpoint()
    }
    for (let round = 1; round <= rounds; round++) {
      for (const multiple of this.#multiples()) {
        // The arms alternate at each load, so that a change of the machine affects all of them.
        for (const arm of this.#parts.arms) await this.#step(arm, multiple, round)
      }
      if (shape === undefined || this.#offerable([shape.spike]).length === 0) continue
      for (const arm of this.#parts.arms) {
        const recovery = await this.#recover(arm, shape)
        this.#measured.recovery = { shape, arms: [...(this.#measured.recovery?.arms ?? []), recovery] }
      }
    }
    if (this.#parts.limitsWithinS !== undefined) await this.#findLimits(this.#parts.limitsWithinS)
    await this.#withApp(bare, (app, url) => this.#findCapacityAgain(app, url))
    this.#measured.spinPerMs = { ...this.#measured.spinPerMs, after: await calibrateSpin(core) }
  }

  #multiples(): readonly number[] {
    return this.#offerable(this.#parts.options.multiples)
  }

  #offerable(multiples: readonly number[]): readonly number[] {
    return offerable(multiples, this.#measured.capacity!.before, this.#parts.shape)
  }

  /** Reports what is wrong with an arm before minutes are spent. */
  async #tryOut(arm: Arm): Promise<void> {
    if (!loadsRegister(arm)) return this.#withApp(arm, async () => {})
    const check = await startProtectionCheck()
    try {
      await this.#withApp(arm, app => check.run(app, this.#context), check.env)
    } finally {
      check.close()
    }
  }

  async #start(arm: Arm, env: Readonly<Record<string, string>> = {}): Promise<RunningApp> {
    const spin = this.#measured.spinPerMs.before
    const app = await this.#context.start({
      name: arm.kind === 'bare' ? 'the command' : arm.name,
      run: arm.command,
      core: 'server',
      env: {
        PORT: this.#port,
        ...(spin === null ? {} : { [spinVariable]: String(spin) }),
        ...this.#parts.env,
        ...arm.env,
        ...env,
      },
      nodeOptions: loadsRegister(arm) ? `--import ${registerUrl()}` : arm.nodeOptions,
      url: this.#parts.options.url,
      tls: this.#parts.options.tls,
      request: this.#parts.options,
      startTimeoutMs: this.#parts.options.startTimeoutMs,
    })
    if (arm.front === undefined) return app
    const { origin, stop } = await arm.front(this.#context, app)
    return {
      ...app,
      origin,
      async stop() {
        await stop()
        await app.stop()
      },
    }
  }

  /** Starts an arm, checks that it answers, calls `use`, and ends it. */
  async #withApp(
    arm: Arm,
    use: (app: RunningApp, url: URL) => Promise<void>,
    env?: Readonly<Record<string, string>>,
  ): Promise<void> {
    const app = await this.#start(arm, env)
    const url = new URL(this.#parts.shape.capacityPath ?? this.#parts.options.path, app.origin)
    const { options } = this.#parts
    for (const doubt of await checkAnswers(app, url, options, options.timeoutMs)) this.#context.doubt(doubt)
    await use(app, url)
    await app.stop()
  }

  async #findCapacity(app: RunningApp, url: URL): Promise<void> {
    this.#context.status('measuring the capacity: warming up')
    const { capacity } = this.#parts.shape
    const found =
      capacity === undefined
        ? await searchCapacity(this.#capacityContext(app, url))
        : { rate: capacity, users: 1, latencyP50Ms: null, searches: undefined }
    this.#measured.capacity = { ...found, before: found.rate, after: null, drift: null }
    const { rounds, recovery } = this.#parts.options
    const multiples = this.#multiples()
    const answer = found.latencyP50Ms === null ? '' : `, ${formatMs(found.latencyP50Ms)} an answer`
    const steps =
      multiples.length === 0
        ? ''
        : `; ${multiples.length * this.#parts.arms.length * rounds} steps, about ${this.#estimate()}`
    this.#context.line(`capacity ${formatRate(found.rate)}/s with ${plural(found.users, 'user')}${answer}${steps}`)
    const spikes = this.#parts.limitsWithinS === undefined ? (recovery?.spike ?? []) : LEVELS.spike
    const wanted = [...new Set([this.#parts.options.multiples, spikes].flat())]
    const left = wanted.filter(multiple => this.#offerable([multiple]).length === 0).map(formatMultiple)
    if (left.length > 0) this.#context.line(`left out, as the generator cannot send that much: ${formatList(left)}`)
  }

  async #findCapacityAgain(app: RunningApp, url: URL): Promise<void> {
    this.#context.status('measuring the capacity again')
    const found = this.#measured.capacity!
    const { before, users } = found
    const again =
      this.#parts.shape.capacity === undefined
        ? await remeasureCapacity(this.#capacityContext(app, url), users)
        : { rate: before, isSteady: true, coreSpeed: null, generator: undefined }
    const isSteady = again.isSteady !== false && found.isSteady !== false
    const drift = again.rate / before - 1
    const [larger, smaller] = again.rate > before ? [again, found] : [found, again]
    const { rate, coreSpeed } = larger
    const ownDrift = ownDriftOf(larger, smaller)
    const generator = found.generator ?? again.generator
    this.#measured.capacity = { ...found, rate, coreSpeed, after: again.rate, drift, ownDrift, isSteady, generator }
    this.#showRows()
    this.#context.line(`capacity again ${formatRate(again.rate)}/s`)
  }

  #capacityContext(app: RunningApp, url: URL): CapacityContext {
    return {
      target: this.#target(url),
      times: this.#parts.options.capacityTimes,
      speed: this.#parts.server.speed,
      run: async plan => {
        const outcome = await this.#load(plan)
        // A partial probe proves nothing.
        this.#context.signal.throwIfAborted()
        app.check('while its capacity was measured')
        return outcome
      },
      onProbe: ({ users, goodput }) =>
        this.#context.status(`measuring the capacity: ${users} users, ${formatRate(goodput)}/s`),
    }
  }

  #load(plan: LoadPlan, live?: ReturnType<typeof liveLine>, onStart?: () => void): Promise<LoadOutcome> {
    const { signal, status } = this.#context
    return runLoad(plan, { signal, onStart, onProgress: live && (seen => status(live(seen))) })
  }

  async #step(arm: Arm, multiple: number, round: number): Promise<void> {
    const { path, sloMs, durationMs, afterWindowMs } = this.#parts.options
    const { goodShare = 1, beside, crowd } = this.#parts.shape
    const isThis = (step: StepResult): boolean =>
      step.arm === arm.name && step.multiple === multiple && step.round === round
    if (this.#measured.steps.some(step => isThis(step) && !step.incomplete)) return
    const rate = (multiple * this.#measured.capacity!.before) / goodShare
    const width = Math.max(...this.#parts.arms.map(({ name }) => name.length))
    const label = `${arm.name.padEnd(width)} ${formatMultiple(multiple).padStart(4)}`
    const app = await this.#start(arm)
    const target = this.#target(new URL(path, app.origin))
    const live = liveLine(label, `${formatRate(rate)}/s`)
    // The second route gets neither the headers nor the body of the first.
    const plain: Target = { ...target, method: 'GET', headers: {}, body: undefined }
    const { outcome, ...seen } = await underLoad(app, this.#parts.server, () =>
      Promise.all([
        this.#load(offer(target, rate, durationMs, crowd), live),
        beside && this.#load(offer({ ...plain, url: new URL(beside.path, app.origin).href }, beside.rate, durationMs)),
      ]),
    )
    const same = { arm: arm.name, multiple, round, window: windowOf(durationMs, afterWindowMs), sloMs, ...seen }
    const step = summariseStep({ ...same, outcome: outcome[0] })
    this.#measured.steps.push(step)
    if (outcome[1] !== undefined) this.#measured.beside?.push(summariseStep({ ...same, outcome: outcome[1] }))
    this.#showRows()
    const capacity = this.#measured.capacity!
    const share = keptOf({ ...step, ofCapacity: step.goodput / capacity.rate })
    const unsure = whyUnjudged(step, capacity) ?? whyNoVerdict({ ...capacity, over: [], best: 0 })
    this.#context.line(`${label}  ${bar(share, 10)}  ${stepLine(step)}`, unsure === undefined ? toneOf(share) : 'none')
    await app.stop()
    this.#context.signal.throwIfAborted()
    this.#context.checkpoint()
  }

  async #recover(arm: Arm, shape: RecoveryShape): Promise<Recovery> {
    const { path, sloMs } = this.#parts.options
    const app = await this.#start(arm)
    const url = new URL(path, app.origin)
    // A spike should hit a process that has run for a while.
    const { isSteady } = await warmUpCode(this.#capacityContext(app, url))
    const plan = recoveryPlan(this.#target(url), this.#measured.capacity!.before, shape)
    const live = liveLine(arm.name, `recovery from ${spikeInWords(shape)}`)
    const silencer = shape.isOutage ? this.#parts.silencer : undefined
    const load = () => this.#load(plan, live, () => silencer?.begin(shape))
    const seen = await underLoad(app, this.#parts.server, load).finally(() => silencer?.end())
    this.#context.signal.throwIfAborted()
    const judged = recoveryOf(arm.name, shape, seen, { sloMs, capacity: this.#measured.capacity! })
    const unused = silencer?.wasUsed === false ? 'the app did not use its dependency before the silence' : null
    const recovery = { ...judged, unsure: judged.unsure ?? unused ?? (isSteady ? null : UNSTEADY) }
    const { unsure, backAfterS } = recovery
    const tone = unsure !== null ? 'none' : backAfterS === null ? 'bad' : 'good'
    this.#context.line(`${arm.name}: ${unsure ?? backInWords(recovery, shape)}, after ${spikeInWords(shape)}`, tone)
    await app.stop()
    return recovery
  }

  /** Shows what retries change: the spike is the highest from which bare recovers without them, or else the lowest. */
  async #findLimits(withinS: number): Promise<void> {
    let spike = 0
    const kinds = ['spike', 'retries', ...(this.#parts.silencer === undefined ? [] : (['outage'] as const))] as const
    for (const kind of kinds) {
      for (const arm of this.#parts.arms) {
        const { tried } = await this.#findLimit(arm, kind, spike, withinS)
        if (kind === 'spike' && arm.kind === 'bare') spike = Math.max(mostHeld(tried), LEVELS.spike[0]!)
      }
    }
  }

  async #findLimit(arm: Arm, kind: Limit['kind'], spike: number, withinS: number): Promise<Limit> {
    let limit: Limit = { arm: arm.name, kind, spike, tried: [], unsure: null }
    const limits = this.#measured.limits!
    const at = limits.length
    const levels = kind === 'spike' ? this.#offerable(LEVELS.spike) : LEVELS[kind]
    for (let level = nextLevel(levels, []); level !== undefined; level = nextLevel(levels, limit.tried)) {
      const { unsure, backAfterS } = await this.#recover(arm, shapeOf(kind, level, spike, withinS))
      limit = unsure === null ? { ...limit, tried: [...limit.tried, { level, backAfterS }] } : { ...limit, unsure }
      limits[at] = limit
      if (unsure !== null) break
    }
    return limit
  }

  #showRows(): void {
    const names = this.#parts.arms.map(({ name }) => name)
    this.#measured.rows = rowsOf(this.#measured.steps, names, this.#measured.capacity!)
  }

  #target(url: URL): Target {
    return { ...this.#parts.options, url: url.href }
  }

  /** Each step costs its duration and a start; above capacity the last requests may also have to time out. */
  #estimate(): string {
    const { rounds, durationMs, timeoutMs, capacityTimes, recovery } = this.#parts.options
    const multiples = this.#multiples()
    const startMs = 700
    const melting = multiples.filter(multiple => multiple > 1).length * (this.#parts.arms.length - 1)
    const steps = multiples.length * this.#parts.arms.length * (durationMs + startMs) + melting * timeoutMs
    const back =
      recovery === undefined
        ? 0
        : this.#parts.arms.length * (lengthMs(recovery) + 2 * capacityTimes.warmUpMs + startMs) + timeoutMs
    const seconds = (rounds * (steps + back) + capacityTimes.warmUpMs + capacityTimes.confirmMs) / 1000
    return seconds < 90 ? `${Math.round(seconds / 5) * 5} s` : `${(seconds / 60).toFixed(1)} min`
  }
}

/** True if meltproof/register protects the arm; a scenario's app may protect itself. */
function loadsRegister({ kind, nodeOptions }: Arm): boolean {
  return kind === 'protected' && nodeOptions !== undefined
}

function stepLine(step: StepResult): string {
  const parts = [`good ${formatRate(step.goodput)}/s of ${formatRate(step.offered)}/s`]
  if (step.admittedMs.p99 !== null) parts.push(`p99 ${formatMs(step.admittedMs.p99)}`)
  if (step.shed > 0) parts.push(`shed ${formatRate(step.shed)}/s`)
  for (const [code, count] of Object.entries(step.failedByCode)) parts.push(`${count} ${code}`)
  if (step.server.died !== null) parts.push(`the process ${step.server.died.how}`)
  if (step.incomplete) parts.push('cut short')
  return parts.join(', ')
}
