/**
 * Whether the apps of apps/ come back by themselves, bare and under register: three seconds at 10x of their capacity, on their
 * dearest route, from clients that retry twice, then 0.8x. The bar: protected, each is back within five seconds. gRPC is not
 * among them: the lab's clients that retry speak HTTP/1.1.
 *
 *   node bench/recovery.ts [app ...]     some 80 s an app; installs what is not installed
 *
 * Keeps what it measured in bench/results/recovery.json, and writes the table of all apps beside it. Ends with 1 when a
 * protected app of this run was not back in time.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { targetOf } from '../apps/load/http.ts'
import { pick } from '../apps/runner/arguments.ts'
import type { AppDefinition, Arm } from '../apps/runner/definition.ts'
import { install } from '../apps/runner/install.ts'
import { allowedCores, coresOf, describeMachine, progressOn, runLoad } from '../apps/runner/lab.ts'
import { subjectOf } from '../apps/runner/subject.ts'
import type { Recovery, RecoveryShape } from '../packages/lab/src/melt/measured.ts'
import { backInWords, recoveryOf, recoveryPlan, spikeInWords } from '../packages/lab/src/melt/recovery.ts'
import { underLoad } from '../packages/lab/src/melt/step.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions, type Conditions } from './lib/conditions.ts'

const SHAPE: RecoveryShape = { beforeS: 3, spike: 10, spikeS: 3, afterS: 13, retries: 2 }
const BAR_S = 5
const WARM_UP = { users: 8, ms: 6000 }

interface Measured extends Conditions {
  readonly capacity: number
  readonly arms: readonly Recovery[]
}

const folder = join(import.meta.dirname, '../apps')
const file = join(import.meta.dirname, 'results/recovery.json')
const { operands, refuse } = scriptOptions(import.meta.filename, {}, { takesOperands: true })
const known = globSync('*/app.ts', { cwd: folder })
  .map(dirname)
  .filter(name => name !== 'grpc')
  .sort()
const progress = progressOn(process.stderr)
const results = (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}) as Record<string, Measured>
for (const name of wanted()) {
  const measured = await measure(name)
  results[name] = measured
  const [, guarded] = measured.arms
  if (guarded!.unsure === null && (guarded!.backAfterS ?? Number.POSITIVE_INFINITY) > BAR_S) process.exitCode = 1
  writeFileSync(file, `${JSON.stringify(results)}\n`)
  writeFileSync(file.replace('.json', '.txt'), table())
}
process.stdout.write(table())

function wanted(): readonly string[] {
  try {
    return pick('app', operands, known)
  } catch (error) {
    return refuse((error as Error).message)
  }
}

async function measure(name: string): Promise<Measured> {
  const { app: definition } = (await import(`../apps/${name}/app.ts`)) as { app: AppDefinition }
  const { dearest } = definition
  if ('program' in dearest) throw new Error(`${name} speaks another protocol`)
  await install(name, definition.build ?? [], progress.line)
  const pinning = coresOf(allowedCores())
  const { signal } = new AbortController()
  const subject = subjectOf({ name, definition, machine: describeMachine(), pinning, signal, progress })
  const before = conditions()
  const { rate } = await subject.capacity()
  const arm = (as: Arm): Promise<Recovery> =>
    subject.underLoad(as, async (make, { app, origin }) => {
      // A spike meets a process whose code has been compiled.
      await make.busy(WARM_UP.users, WARM_UP.ms)
      const target = targetOf(origin, dearest)
      const seen = await underLoad(app, pinning?.server, () => runLoad(recoveryPlan(target, rate, SHAPE), { signal }))
      // The kernel works for a proxy's sockets on its core, and that is no other process: a quiet machine is up to the caller.
      const recovery = recoveryOf(as === 'bare' ? 'bare' : 'protected', SHAPE, { ...seen, foreign: null }, target.sloMs)
      progress.line(`${name} ${recovery.arm}: ${recovery.unsure ?? backInWords(recovery, SHAPE)}`)
      return recovery
    })
  return { ...before, capacity: rate, arms: [await arm('bare'), await arm('register')] }
}

function table(): string {
  const cell = (recovery: Recovery): string => recovery.unsure ?? backInWords(recovery, SHAPE)
  const rows = Object.entries(results)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, { date, capacity, arms }]) => [name, `${capacity.toFixed(0)}/s`, ...arms.map(cell), date])
  const all = [['', 'capacity', 'bare', 'protected', 'measured'], ...rows]
  const widths = all[0]!.map((_, at) => Math.max(...all.map(cells => cells[at]!.length)))
  const lines = all.map(cells =>
    cells
      .map((words, at) => words.padEnd(widths[at]!))
      .join('  ')
      .trimEnd(),
  )
  return `Written by node bench/recovery.ts: ${spikeInWords(SHAPE)}, then 0.8x.\n\n${lines.join('\n')}\n`
}
