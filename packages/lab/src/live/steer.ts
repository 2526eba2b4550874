/** Sends both sides the load that the page sets, until the user ends it, and records the results. */
import os from 'node:os'
import type { Context } from '../experiment/scenario.ts'
import { describeMachine } from '../launch/machine.ts'
import { planOf } from '../load/load-request.ts'
import type { LoadPlan } from '../load/plan.ts'
import { outcomeOf } from '../load/run.ts'
import { connectionsFor } from '../melt/load-plans.ts'
import { formatMultiple, formatRate } from '../report/format.ts'
import { GeneratorProcess } from './generator-process.ts'
import { type Death, type LiveMeasured, rowsOf, secondsOf } from './measured.ts'
import type { LiveOptions } from './options.ts'
import { PageServer } from './page-server.ts'
import { Session, stopsFor, type LiveUpdate } from './session.ts'
import type { Side } from './sides.ts'
import { whyUnjudged } from './view.ts'

/** Lower than the priority of the generator and the services, which are started before. */
const PAGE_PRIORITY = 10
const STATUS_EVERY_S = 1
/** Factor for connections: a request that has timed out occupies its connection for a moment longer. */
const SPARE = 1.25

export interface Steered {
  readonly options: LiveOptions
  /** Called when the page is served and the load runs. The page server outlives the run, to show the report. */
  readonly onServing: (page: PageServer, address: string) => void
  /** Ends the load, like the page's button. */
  readonly ending: AbortController
  readonly sides: readonly Side[]
}

export async function steer(context: Context, measured: LiveMeasured, steered: Steered): Promise<void> {
  const { options, sides, onServing, ending } = steered
  const { rate: capacity } = measured.capacity!
  const { melt, longestMs } = options
  const { signal } = context
  const died: Record<string, Death> = {}
  let over = false
  for (const { arm, app } of sides) {
    void app.exited.then(how => {
      if (over) return
      died[arm] = { how, load: session.load }
      context.line(`${arm}: its process ${how}`)
    })
  }
  const stops = stopsFor(capacity)
  const session = new Session(capacity, stops, side => died[sides[side]!.arm] !== undefined)
  const judged = (update: LiveUpdate | undefined): object | undefined =>
    update && { ...update, unjudged: context.disturbance() ?? whyUnjudged(measured.capacity!, session.best) }
  let offered = session.rate
  const { request, sloMs, timeoutMs } = measured.setup
  const { cpu, cores, node } = describeMachine()
  const machine = `${cpu}, ${cores} cores, Node ${sides[0]!.app.node ?? node}: ${measured.setup.cores}`
  const about = { command: melt.command.join(' '), request, sloMs, timeoutMs, machine, capacity, stops }
  const page = new PageServer({
    about: () => about,
    everything: () => judged(session.everything()),
    setLoad: given => session.set(given),
    end: () => ending.abort(),
  })
  let statusAtS = 0
  const generator = new GeneratorProcess(tick => {
    const told = session.add(tick)
    page.tell(judged(told))
    // The generator gets at most one change per tick, however often the page sends one.
    if (session.rate !== offered) generator.tell({ kind: 'steer', rate: session.rate })
    offered = session.rate
    if (told.atS < statusAtS) return
    statusAtS = told.atS + STATUS_EVERY_S
    context.status(statusOf(told, sides))
  })
  context.cleanUp(() => generator.close())
  const plans = sides.map(({ url }) => planFor(options, url, stops.at(-1)! * capacity))
  context.status('opening the connections')
  await Promise.race([generator.start(plans, session.rate), generator.reports, aborted(signal)])
  onServing(page, await page.listen())
  signal.throwIfAborted()
  // The kernel schedules the generator first; the page uses the remaining CPU time.
  if (context.cores !== undefined) os.setPriority(PAGE_PRIORITY)
  const timer = setTimeout(() => ending.abort(), longestMs)
  try {
    await Promise.race([aborted(ending.signal).catch(() => {}), aborted(signal), generator.reports])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
  generator.tell({ kind: signal.aborted ? 'stop' : 'end' })
  context.status('waiting for requests in flight')
  signal.addEventListener('abort', () => generator.tell({ kind: 'stop' }), { once: true })
  const reports = await generator.reports
  over = true
  const outcomes = sides.map(({ arm }, side) => ({ arm, outcome: outcomeOf(plans[side]!, [reports[side]!]) }))
  for (const { arm, outcome } of outcomes) for (const reason of outcome.why) context.doubt(`${arm}: ${reason}`)
  measured.died = died
  measured.seconds = secondsOf(outcomes, session.loads, melt.sloMs)
  measured.rows = rowsOf(outcomes, session.loads, melt.sloMs, capacity)
}

/** The generator ignores the plan's arrivals and uses its connections, which suit the highest load. */
function planFor({ melt, longestMs }: LiveOptions, url: string, mostRate: number): LoadPlan {
  const { connections: _, ...request } = melt
  return {
    ...planOf({ ...request, url, rate: mostRate, durationMs: longestMs }),
    connections: connectionsFor(melt, mostRate * SPARE),
  }
}

function statusOf({ load, sides: figures }: LiveUpdate, sides: readonly Side[]): string {
  const good = figures.map((side, at) => `${sides[at]!.arm} ${formatRate(side.good)}/s good`)
  return `${formatMultiple(load)}  ${good.join(', ')}  (Ctrl-C ends it)`
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
