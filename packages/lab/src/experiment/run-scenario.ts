/** Runs and judges one scenario. If it ended early, the result contains what was measured until then. */
import { performance } from 'node:perf_hooks'
import { describeMachine } from '../launch/machine.ts'
import { allowedCores, coresOf, pinSelf, unpinSelf } from '../launch/core-pinning.ts'
import type { Progress } from '../progress.ts'
import { formatPercent } from '../report/format.ts'
import type { Form, ScenarioResult, Verdict, View } from '../report/result.ts'
import { MAX_FOREIGN_CORES, watchForeign } from '../processes/foreign-cpu.ts'
import { NOTHING_MEASURED, withoutVerdict } from '../report/standing.ts'
import { UserError } from '../user-error.ts'
import { missingPackages } from './app-file.ts'
import { commitHere } from './commit.ts'
import { makeContext } from './context.ts'
import type { Expectation, Scenario } from './scenario.ts'
import { scriptDigest } from './script-digest.ts'

export interface RunOptions {
  readonly form: Form
  readonly commandLine: string
  readonly labVersion: string
  readonly progress: Progress
  readonly signal: AbortSignal
  /** An earlier run that was stopped. */
  readonly resumed?: RunPart
  readonly onCheckpoint?: (part: RunPart) => void
}

/** The measurements of a run so far, its duration, and its doubts. */
export type RunPart = Pick<ScenarioResult, 'measured' | 'elapsedMs' | 'why'>

/** `failure`: why the run ended early: an error, or the reason of the aborted signal. */
export async function runScenario(
  scenario: Scenario<unknown>,
  options: RunOptions,
): Promise<{ readonly result: ScenarioResult; readonly failure: unknown }> {
  const { form, progress, signal } = options
  const missing = missingPackages(scenario.needs ?? [])
  if (missing.length > 0) {
    throw new UserError(
      `${scenario.name} needs ${missing.join(' and ')}, which meltlab does not include: npm install ${missing.join(' ')}`,
    )
  }
  const startedAt = new Date()
  const startedMs = performance.now()
  const allowed = allowedCores()
  const cores = coresOf(allowed)
  if (cores !== undefined) pinSelf(cores.lab)
  const { resumed = { measured: scenario.blank(), elapsedMs: 0, why: [] } } = options
  const { measured } = resumed
  const elapsedMs = (): number => Math.round(resumed.elapsedMs + performance.now() - startedMs)
  const checkpoint = (): void => options.onCheckpoint?.({ measured, elapsedMs: elapsedMs(), why: doubts })
  const machine = describeMachine()
  const soFar = (): string | undefined => disturbance({ ...machine, foreign: foreignWatch.soFar() ?? null })
  const parts = { form, signal, progress, cores, checkpoint, disturbance: soFar }
  const { context, doubts, nodes, usedCores, end } = makeContext(parts)
  for (const reason of resumed.why) context.doubt(reason)
  // Read before the run, because a commit may be made while it lasts.
  const commit = commitHere()
  const foreignWatch = watchForeign(cores === undefined ? allowed : usedCores)
  let failure: unknown
  try {
    await scenario.run(context, measured)
    signal.throwIfAborted()
  } catch (error) {
    failure = signal.aborted ? signal.reason : error
  }
  const foreign = await foreignWatch.stop()
  progress.status('ending the apps')
  await end()
  if (cores !== undefined) unpinSelf(allowed)
  progress.clear()

  const script = scriptDigest(scenario.name)
  const conditions = {
    commandLine: options.commandLine,
    labVersion: options.labVersion,
    ...(commit === undefined ? {} : { commit }),
    ...machine,
    ...(script === undefined ? {} : { script }),
    ...(nodes.size === 0 ? {} : { appNode: appNodes(nodes, scenario.arms) }),
    pinning: cores ?? null,
    foreign: foreign ?? null,
  }
  const disturbed = disturbance(conditions)
  const incomplete = failure !== undefined
  const [firstLine] = (failure instanceof Error ? failure.message : String(failure)).split('\n')
  const why = [
    ...(incomplete ? [`the run ended early: ${firstLine}`] : []),
    ...(cores === undefined
      ? ['what was measured and the lab were not kept on different cores (that takes `taskset` and two cores)']
      : []),
    ...(disturbed === undefined ? [] : [disturbed]),
    ...doubts,
  ]
  const result: ScenarioResult = {
    kind: 'scenario',
    version: 1,
    name: scenario.name,
    form,
    startedAt: startedAt.toISOString(),
    elapsedMs: elapsedMs(),
    incomplete,
    certified: why.length === 0,
    why,
    conditions,
    ...wordingOf(scenario, measured, { form, incomplete, conditions }),
    measured,
  }
  return { result, failure }
}

export type Wording = View & Pick<ScenarioResult, 'title' | 'story' | 'arms' | 'published' | 'verdicts'>

/** All texts and plots of the figures; equal figures give equal output. Pure. */
export function wordingOf(
  scenario: Scenario<unknown>,
  measured: unknown,
  { form, incomplete, conditions }: Pick<ScenarioResult, 'form' | 'incomplete' | 'conditions'>,
): Wording {
  const { title, story, arms, published, expects } = scenario
  const view = viewOf(scenario, measured, incomplete)
  const disturbed = disturbance(conditions) ?? view.unjudged
  return {
    title,
    story,
    arms,
    published: published.map(({ ours, ...figure }) => {
      const here = ours(measured)
      return here === undefined ? figure : { ...figure, ours: here }
    }),
    verdicts: judge(expects, measured, { form, incomplete, disturbed }),
    ...(disturbed === undefined ? view : withoutVerdict(view, disturbed)),
  }
}

/** `disturbed`: a sentence that says why figures of speed cannot be judged; undefined on a quiet machine. Pure. */
export function judge<Measured>(
  expects: readonly Expectation<Measured>[],
  measured: Measured,
  { form, incomplete, disturbed }: Pick<ScenarioResult, 'form' | 'incomplete'> & { disturbed: string | undefined },
): Verdict[] {
  return expects.map(({ name, judge: decide, needsQuiet = true }) => {
    const judgement = decide(measured)
    const not = (why: string): Verdict => ({ name, verdict: 'not judged', measured: why })
    if (judgement === undefined) return not(incomplete ? 'the run ended before it was measured' : 'it was not measured')
    if (needsQuiet && form === 'brief') return not(`${judgement.measured}; the brief form is too short to judge`)
    if (needsQuiet && disturbed !== undefined) return not(`${judgement.measured}; ${disturbed}`)
    return { name, verdict: judgement.pass ? 'pass' : 'fail', measured: judgement.measured }
  })
}

/** Lists each version once; several with the names of their arms. A command that is not an arm counts as `bare`. */
export function appNodes(nodes: ReadonlyMap<string, string>, arms: Scenario<unknown>['arms']): readonly string[] {
  const versions = Map.groupBy(nodes, ([, version]) => version)
  if (versions.size < 2) return [...versions.keys()]
  const armOf = (command: string) => (arms.some(({ name }) => name === command) ? command : 'bare')
  return [...versions].map(([version, those]) => `${version} (${those.map(([name]) => armOf(name)).join(', ')})`)
}

/** An interrupted run may have too few figures to show; then the view says so. */
function viewOf(scenario: Scenario<unknown>, measured: unknown, incomplete: boolean): View {
  try {
    return scenario.view(measured)
  } catch (error) {
    if (!incomplete) throw error
    return NOTHING_MEASURED
  }
}

function disturbance({ foreign, cores }: Pick<ScenarioResult['conditions'], 'foreign' | 'cores'>): string | undefined {
  if (cores < 2) return 'the load and what it measured shared one core; repeat the run on a machine with two'
  if (foreign === null || foreign.mean <= MAX_FOREIGN_CORES) return undefined
  const used = `${formatPercent(foreign.mean)} of a core on average, ${formatPercent(foreign.worst)} at worst`
  return `the machine was busy: other processes used ${used}; end them and repeat the run`
}
