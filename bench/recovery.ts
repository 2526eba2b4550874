/**
 * Do the apps of apps/ recover by themselves, bare and under meltproof/register? Offers 0.8x of an app's capacity, then
 * 10x for three seconds, then 0.8x again, on its most expensive route and from clients that retry twice. The bar: each
 * protected app recovers within five seconds.
 *
 *   node bench/recovery.ts [app ...]     about two minutes an app; installs missing apps
 *   node bench/recovery.ts --page        only writes docs/recovery.md
 *
 * Stores its results in bench/results/recovery.json, and writes docs/recovery.md from all of them. Waits until the
 * machine is quiet. Exit code 1 if it does not become quiet, 3 when a protected app of this run did not recover in
 * time, unless the app cannot be judged.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pick } from '../apps/runner/arguments.ts'
import type { AppDefinition, Arm } from '../apps/runner/definition.ts'
import { install } from '../apps/runner/install.ts'
import { allowedCores, coresOf, describeMachine, progressOn } from '../apps/runner/lab.ts'
import { subjectOf } from '../apps/runner/subject.ts'
import type { Recovery } from '../packages/lab/src/melt/measured.ts'
import { backInWords } from '../packages/lab/src/melt/recovery.ts'
import { MAX_FOREIGN_CORES } from '../packages/lab/src/processes/foreign-cpu.ts'
import { writeWhole } from '../packages/lab/src/write-whole.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { whyMachineBusy } from './figures/run-steps.ts'
import { conditions } from './lib/conditions.ts'
import { besideOthers } from './lib/others-cpu.ts'
import { type RecoveryLoad, recoveryLoad } from './lib/recovery-loads.ts'
import {
  type AppRecovery,
  type ArmRecovery,
  DISTURBED,
  isJudged,
  meetsBar,
  recoveryPage,
  SHAPE,
} from './lib/recovery-page.ts'
import { steadyCapacity, whyUnsteadyAt } from './lib/steady-load.ts'

const QUIET_WITHIN_S = 600
/** Maximum number of runs of an arm, if other processes disturb it. */
const MOST_RUNS = 3

const folder = join(import.meta.dirname, '../apps')
const file = join(import.meta.dirname, 'results/recovery.json')
const page = join(import.meta.dirname, '../docs/recovery.md')
const { operands, values, refuse } = scriptOptions(
  import.meta.filename,
  { page: { type: 'boolean', default: false } },
  { takesOperands: true },
)
const known = globSync('*/app.ts', { cwd: folder }).map(dirname).sort()
const pinning = coresOf(allowedCores()) ?? refuse('this needs two cores and taskset')
const progress = progressOn(process.stderr)
const { signal } = new AbortController()
const results = (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}) as Record<string, AppRecovery>
for (const name of values.page ? [] : wanted()) {
  results[name] = await measure(name)
  if (isJudged(results[name]) && !meetsBar(results[name])) process.exitCode = 3
  writeWhole(file, `${JSON.stringify(results, rounded)}\n`)
}
writeWhole(page, recoveryPage(JSON.parse(readFileSync(file, 'utf8')), known.length))

function wanted(): readonly string[] {
  try {
    return pick('app', operands, known)
  } catch (error) {
    return refuse((error as Error).message)
  }
}

async function measure(name: string): Promise<AppRecovery> {
  const { app: definition } = (await import(`../apps/${name}/app.ts`)) as { app: AppDefinition }
  await install(name, definition.build ?? [], progress.line)
  const made = { name, definition, machine: describeMachine(), pinning, signal, progress }
  await untilQuiet()
  const before = conditions()
  const found = await undisturbed(async () => ({ ...(await subjectOf(made).capacity()), unsure: null }))
  if (found.unsure !== null) {
    progress.line(`${name}: its capacity could not be measured, because ${found.unsure}`)
    process.exit(1)
  }
  const { rate: searched } = found
  const { underLoad: withApp } = subjectOf(made)

  const recover = async (load: RecoveryLoad, capacity: number): Promise<Recovery> => {
    const recovery = await load.recover(capacity)
    progress.line(`${name} ${recovery.arm}: ${recovery.unsure ?? backInWords(recovery, SHAPE)}`)
    return recovery
  }
  const under = <T>(arm: Arm, use: (load: RecoveryLoad) => Promise<T>): Promise<T> =>
    withApp(arm, (_, running) => use(recoveryLoad(definition, running, { shape: SHAPE, pinning, signal })))

  const { capacity, lowered, ...bare } = await undisturbed(() =>
    under('bare', async load => {
      const { isSteady, ...steady } = await steadyCapacity(load, searched)
      for (const why of steady.lowered) progress.line(`${name}: ${why}`)
      const recovery = await recover(load, steady.capacity)
      const unsure = isSteady ? recovery.unsure : 'no load that was tried was steady before the spike'
      return { ...recovery, ...steady, unsure }
    }),
  )
  const guarded = await undisturbed(() =>
    under('register', async load => {
      // Warms the app like the bare one. The seconds before the spike show whether it carries the same load.
      await whyUnsteadyAt(load, capacity)
      return recover(load, capacity)
    }),
  )
  return { ...before, title: definition.title, searched, capacity, lowered, bare, protected: guarded }
}

type Undisturbed<T> = T & Pick<ArmRecovery, 'unsure' | 'others' | 'disturbed'>

/** Repeats the run when other processes used too much of the machine. */
async function undisturbed<T extends Pick<ArmRecovery, 'unsure'>>(run: () => Promise<T>): Promise<Undisturbed<T>> {
  for (let disturbed = 0; ; disturbed++) {
    await untilQuiet()
    const { result, others } = await besideOthers(run)
    if (others <= MAX_FOREIGN_CORES) return { ...result, others, disturbed }
    progress.line(`others used ${others.toFixed(2)} cores meanwhile`)
    if (disturbed + 1 < MOST_RUNS) continue
    return { ...result, others, disturbed, unsure: DISTURBED }
  }
}

async function untilQuiet(): Promise<void> {
  progress.status('waiting for a quiet machine')
  const why = await whyMachineBusy(signal, QUIET_WITHIN_S)
  if (why === undefined) return
  progress.line(why)
  process.exit(1)
}

/** Rounds figures to four significant digits: more would only make the file longer. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
