/** From the cells measured so far to bench/results/overload.json, docs/scoreboard.md and its pictures. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine } from '../../packages/lab/src/launch/machine.ts'
import { foreignBelow, reasonsToDoubt } from '../../packages/lab/src/melt/doubts.ts'
import { rowsOf, windowOf } from '../../packages/lab/src/melt/summary.ts'
import { formatPercent } from '../../packages/lab/src/report/format.ts'
import { idealShare } from './ideal.ts'
import { type Subject, timeoutOf } from './measure.ts'
import { pageOf, type Scoreboard, type Suite, type SuiteResult } from './page-of.ts'
import { pictureOf } from './picture.ts'
import type { ShedCost, Store } from './store.ts'
import { ARMS, type Arm, MODES, WORKLOADS } from './workloads.ts'

const SUBJECTS: readonly Subject[] = Object.entries(WORKLOADS).flatMap(([name, workload]) =>
  MODES.map(mode => ({ name, workload, mode })),
)

export function suiteOf({ name, mode }: Pick<Subject, 'name' | 'mode'>): string {
  return `${name}-${mode}`
}

export function scoreboardOf(store: Store): Scoreboard {
  const shedCost = store.shedCost()
  const suites = SUBJECTS.flatMap(subject => assemble(store, subject, shedCost) ?? [])
  return { shedCost, suites }
}

/** What of a suite is kept in bench/results/overload.json. */
type KeptSuite = SuiteResult & Pick<Suite, 'beside' | 'ideal'>

/** As last written; a suite that is not in the store, because it was measured elsewhere or long ago, stays as it was. */
function lastWritten(file: string): Scoreboard {
  if (!existsSync(file)) return { shedCost: undefined, suites: [] }
  const { shedCost, suites } = JSON.parse(readFileSync(file, 'utf8')) as {
    shedCost: ShedCost | undefined
    suites: readonly KeptSuite[]
  }
  const known = suites.flatMap(({ beside, ideal, ...result }) => {
    const subject = SUBJECTS.find(each => suiteOf(each) === result.name)
    if (subject === undefined) return []
    return [{ name: suiteOf(subject), subject, result, beside, ideal, idealAt: (multiple: number) => ideal[multiple]! }]
  })
  return { shedCost, suites: known }
}

export function writeScoreboard(root: string, store: Store): void {
  const file = join(root, 'bench/results/overload.json')
  const measured = scoreboardOf(store)
  const last = lastWritten(file)
  const all = [...measured.suites, ...last.suites]
  const board: Scoreboard = {
    shedCost: measured.shedCost ?? last.shedCost,
    suites: SUBJECTS.flatMap(subject => all.find(({ name }) => name === suiteOf(subject)) ?? []),
  }
  const images = join(root, 'docs/images')
  mkdirSync(images, { recursive: true })
  for (const { name, subject, result, idealAt } of measured.suites) {
    const loads = new Set(result.rows.map(row => row.multiple))
    if (loads.size > 1 && !subject.workload.countsBeside) {
      const title = `${subject.workload.title}, ${result.conditions.connections}`
      writeFileSync(join(images, `overload-${name}.svg`), pictureOf(title, result.arms, result.rows, idealAt))
    }
  }
  const json = {
    shedCost: board.shedCost,
    suites: board.suites.map(({ result, beside, ideal }) => ({
      ...result,
      // Second by second is for looking into a run; here each cell keeps its figures.
      steps: result.steps.map(step => ({ ...step, seconds: undefined, memory: undefined })),
      beside,
      ideal,
    })),
  }
  writeFileSync(file, `${JSON.stringify(json, null, 1)}\n`)
  writeFileSync(join(root, 'docs/scoreboard.md'), pageOf(board))
  console.log(
    `wrote bench/results/overload.json and docs/scoreboard.md: ${board.suites.length} suites, ${measured.suites.length} of them measured here`,
  )
}

function assemble(store: Store, subject: Subject, shedCost: ShedCost | undefined): Suite | undefined {
  const name = suiteOf(subject)
  const found = store.capacity(name)
  const cells = store.cells(name)
  if (found === undefined || cells.length === 0) return undefined
  const { workload } = subject
  const rate = Math.max(found.before, found.after ?? 0)
  const capacity = {
    rate,
    before: found.before,
    after: found.after,
    drift: found.after === null ? null : found.after / found.before - 1,
    users: found.users,
    latencyP50Ms: found.latencyP50Ms,
  }
  const steps = cells.map(cell => cell.step)
  const present = ARMS.filter(arm => steps.some(step => step.arm === arm))
  const rows = rowsOf(steps, present, rate)
  const durationMs = found.durationMs
  const known = {
    kind: 'melt',
    version: 1,
    name,
    startedAt: found.startedAt,
    elapsedMs: 0,
    incomplete: found.after === null,
    conditions: {
      commandLine: `npm run bench:overload -- --workload ${subject.name} --modes ${subject.mode}`,
      labVersion: found.commit,
      ...describeMachine(),
      pinning: found.pinning,
      busyBefore: found.busyBefore,
      spinPerMs: { before: found.spinPerMs, after: null },
      request: `GET ${workload.path}`,
      sloMs: 1000,
      timeoutMs: timeoutOf(subject),
      durationMs,
      rounds: Math.max(...rows.map(row => row.rounds)),
      spacing: 'poisson',
      connections: subject.mode === 'fresh' ? 'a new connection for every request' : '1,500 standing connections',
      window: windowOf(durationMs),
    },
    capacity,
    arms: present.map(arm => ({
      name: arm,
      kind: kindOf(arm),
      command: `node bench/overload/app.mjs ${subject.name} ${arm}`,
      nodeOptions: null,
    })),
    steps,
    rows,
  } as const
  const { pinning, busyBefore, spinPerMs } = known.conditions
  const busy = Math.max(busyBefore?.server ?? 0, busyBefore?.lab ?? 0)
  const why = [
    ...(found.after === null ? ['the capacity was not measured again at the end'] : []),
    ...(pinning === null ? ['the server and the lab were not kept on different cores'] : []),
    ...(busy >= foreignBelow ? [`the machine was busy before the run: a core of it ${formatPercent(busy)}`] : []),
    ...reasonsToDoubt({ capacity, spinPerMs, steps }),
  ]
  const besideSteps = cells.flatMap(cell => cell.beside ?? [])
  const serviceUs = 1e6 / rate
  const r = (shedCost?.us[subject.mode] ?? 0) * (workload.neighbour === true ? 2 : 1)
  const idealAt = (k: number): number =>
    (workload.bound === 'cpu' ? idealShare(k, r, serviceUs) : Math.min(1, k)) * (workload.available ?? 1)
  return {
    name,
    subject,
    result: { ...known, certified: why.length === 0, why },
    beside: workload.beside === undefined ? [] : rowsOf(besideSteps, present, workload.beside.rate),
    idealAt,
    ideal: Object.fromEntries([...new Set(rows.map(row => row.multiple))].map(k => [k, idealAt(k)])),
  }
}

function kindOf(arm: Arm): SuiteResult['arms'][number]['kind'] {
  return arm === 'bare' ? 'bare' : arm === 'meltproof' ? 'protected' : 'also'
}
