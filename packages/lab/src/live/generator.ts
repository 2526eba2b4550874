/** The generator's process: one thread sends the same load to both sides, so that a delay affects both alike. */
import { nowMs } from '../load/clock.ts'
import { Engine } from '../load/engine.ts'
import type { LoadPlan } from '../load/plan.ts'
import { prepare } from '../load/prepare.ts'
import { peersOf } from '../load/target.ts'
import { warmUp } from '../load/warm-up.ts'
import type { FromGenerator, ToGenerator } from './generator-process.ts'
import { SideCounter } from './side-counter.ts'
import { SteeredArrivals } from './steered-arrivals.ts'

const TICK_MS = 100
const LEAD_MS = 20

interface Side {
  readonly engine: Engine
  readonly arrivals: SteeredArrivals
  readonly counter: SideCounter
  readonly control: Int32Array
}

let sides: readonly Side[] = []
let rate = 0
let startAt = Number.POSITIVE_INFINITY

async function makeSide(plan: LoadPlan): Promise<Side> {
  const { servers, requests } = prepare(plan)
  const peers = await peersOf(servers, plan.connectTimeoutMs)
  const counter = new SideCounter(plan.sloMs)
  const arrivals = new SteeredArrivals(rate, counter)
  const control = new Int32Array(new SharedArrayBuffer(4))
  const engine = new Engine({ plan, peers, requests, worker: 0, workers: 1, control }, arrivals)
  return { engine, arrivals, counter, control }
}

async function start(plans: readonly LoadPlan[]): Promise<void> {
  await warmUp('open')
  sides = await Promise.all(plans.map(makeSide))
  await Promise.all(sides.map(side => side.engine.open()))
  startAt = nowMs() + LEAD_MS
  tell({ kind: 'started' })
  const ticking = setInterval(tick, TICK_MS)
  const reports = await Promise.all(sides.map(side => side.engine.run(startAt)))
  clearInterval(ticking)
  // All engines of a thread see its whole CPU time, but each counts only its own idle turns.
  const idleMs = reports.reduce((sum, report) => sum + report.idleMs, 0)
  tell({ kind: 'done', reports: reports.map(report => ({ ...report, idleMs })) })
}

let toldAt = 0
let telling = false

/** If the lab has not read the last tick, none is sent: the counts continue, and the next tick contains them. */
function tick(): void {
  const atMs = nowMs() - startAt
  if (telling || atMs <= 0) return
  telling = true
  const counts = sides.map(side => side.counter.take())
  tell({ kind: 'tick', tick: { atMs, lengthMs: atMs - toldAt, rate, sides: counts } }, () => {
    telling = false
  })
  toldAt = atMs
}

function tell(message: FromGenerator, taken?: () => void): void {
  // The callback ignores errors: they mean that the lab has ended, and 'disconnect' follows.
  process.send?.(message, undefined, undefined, () => taken?.())
}

function hear(message: ToGenerator): void {
  switch (message.kind) {
    case 'start':
      rate = message.rate
      start(message.plans).catch((error: unknown) => {
        tell({ kind: 'failed', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      })
      break
    case 'steer':
      rate = message.rate
      for (const { arrivals } of sides) arrivals.steer(rate, nowMs() - startAt)
      break
    case 'end':
      for (const { arrivals } of sides) arrivals.end(Math.max(0, nowMs() - startAt))
      break
    case 'stop':
      for (const { control, engine } of sides) {
        Atomics.store(control, 0, 1)
        engine.wake()
      }
  }
}

process.on('message', hear)
process.on('disconnect', () => process.exit(0))
