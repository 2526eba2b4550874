/**
 * `runLoad` executes a plan with worker threads, which start together once their standing connections are open, and
 * merges their counts. They share only one word, which says "stop".
 */
import { Worker } from 'node:worker_threads'
import { addUp, byKind, countsOf, sumOf } from './added.ts'
import { certificateOf, doubts } from './certify.ts'
import { checkPlan } from './check-plan.ts'
import { nowMs } from './clock.ts'
import type { EngineJob, EngineProgress, EngineReport } from './engine-job.ts'
import { Histogram, type HistogramData } from './histogram.ts'
import type { JourneyOutcome, LoadOptions, LoadOutcome, LoadPlan, LoadSecond, TargetOutcome } from './plan.ts'
import type { JourneyData } from './journeys.ts'
import { prepare } from './prepare.ts'
import { planMs } from './schedule.ts'
import { peersOf } from './target.ts'
import type { TallyData } from './tally.ts'
import type { FromWorker, ToWorker } from './worker.ts'

/** Time from "all ready" to the first arrival, ms: enough for the message to reach every worker. */
const LEAD_MS = 20
const PROGRESS_EVERY_MS = 1000

/** The sources contain worker.ts, the build worker.js. */
const workerFile = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

/**
 * Throws (RangeError, TypeError) for an invalid plan, before anything is sent. Failures of the server are part of the
 * outcome and never throw.
 */
export const runLoad = async (plan: LoadPlan, options: LoadOptions = {}): Promise<LoadOutcome> => {
  checkPlan(plan)
  const { servers, requests } = prepare(plan)
  const peers = await peersOf(servers, plan.connectTimeoutMs)
  const control = new Int32Array(new SharedArrayBuffer(4))
  const workers = Array.from({ length: plan.threads }, (_, worker) => {
    const job: EngineJob = {
      // `requests` contains the headers and bodies, so the thread needs no second copy of them.
      plan: { ...plan, headers: {}, body: undefined, others: [] },
      peers,
      requests,
      worker,
      workers: plan.threads,
      control,
    }
    return new LoadWorker(job)
  })
  const ended = Promise.all(workers.map(worker => worker.report))
  const stop = (): void => {
    Atomics.store(control, 0, 1)
    Atomics.notify(control, 0)
    for (const worker of workers) worker.postMessage({ kind: 'stop' } satisfies ToWorker)
  }
  options.signal?.addEventListener('abort', stop, { once: true })
  if (options.signal?.aborted) stop()
  let telling: NodeJS.Timeout | undefined
  try {
    await Promise.race([Promise.all(workers.map(worker => worker.ready)), ended])
    const startAt = nowMs() + LEAD_MS
    for (const worker of workers) worker.postMessage({ kind: 'start', startAt } satisfies ToWorker)
    options.onStart?.()
    const tellProgress = (): void => {
      const parts = workers.map(worker => worker.progress)
      const inflight = sumOf(parts, part => part.inflight)
      options.onProgress?.({ elapsedMs: nowMs() - startAt, totalMs: planMs(plan), ...countsOf(parts), inflight })
    }
    telling = setInterval(tellProgress, PROGRESS_EVERY_MS)
    const reports = await ended
    tellProgress()
    return outcomeOf(plan, reports)
  } finally {
    clearInterval(telling)
    options.signal?.removeEventListener('abort', stop)
    await Promise.all(workers.map(worker => worker.terminate()))
  }
}

class LoadWorker extends Worker {
  readonly ready: Promise<void>
  /** Rejects if the thread fails, also before it is ready. */
  readonly report: Promise<EngineReport>
  progress: EngineProgress = { scheduled: 0, sent: 0, answered: {}, failed: {}, good: 0, inflight: 0 }

  constructor(job: EngineJob) {
    super(workerFile, {
      workerData: job,
      name: `meltlab load ${job.worker}`,
      // Requests live longer than one young collection: a larger nursery avoids copying them repeatedly.
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    })
    const ready = Promise.withResolvers<void>()
    const report = Promise.withResolvers<EngineReport>()
    this.ready = ready.promise
    this.report = report.promise
    // It may reject before the start of the other workers is awaited.
    this.report.catch(() => {})
    this.on('message', (message: FromWorker) => {
      if (message.kind === 'ready') ready.resolve()
      else if (message.kind === 'progress') this.progress = message.progress
      else report.resolve(message.report)
    })
    this.on('error', report.reject)
    this.on('exit', code => report.reject(new Error(`a load worker ended unexpectedly with code ${code}`)))
  }
}

export const outcomeOf = (plan: LoadPlan, reports: readonly EngineReport[]): LoadOutcome => {
  const tallies = reports.map(report => report.tally)
  const merged = (read: (tally: TallyData) => HistogramData): Histogram => mergedOf(tallies.map(read))
  const latencies = byKind(kind => ({
    measured: merged(tally => tally.latencies[kind].measured),
    clean: merged(tally => tally.latencies[kind].clean),
  }))
  const sendLag = merged(tally => tally.sendLag)
  const counts = countsOf(tallies)
  const journeys = journeysOf(reports.flatMap(report => report.journeys ?? []))
  const found = doubts({
    plan,
    workers: reports,
    latencies,
    sendLag,
    connectionWait: merged(tally => tally.connectionWait),
    good: counts.good,
    goodLost: sumOf(tallies, tally => tally.goodLost),
    reasons: addUp(tallies.map(tally => tally.reasons)),
    journeysNotStarted: journeys?.notStarted ?? 0,
  })
  return {
    ...counts,
    unsent: sumOf(tallies, tally => tally.unsent),
    elapsedMs: Math.max(...reports.map(report => report.elapsedMs)),
    bytesRead: sumOf(tallies, tally => tally.bytesRead),
    bodyBytes: sumOf(tallies, tally => tally.bodyBytes),
    bodyBytesSent: sumOf(tallies, tally => tally.bodyBytesSent),
    targets: targetsOf(tallies),
    okLatency: latencies.ok.measured,
    shedLatency: latencies.shed.measured,
    otherLatency: latencies.other.measured,
    failedAfter: latencies.failed.measured,
    sendLag,
    seconds: secondsOf(tallies),
    cpuPerRequestUs:
      (sumOf(reports, report => Math.max(0, report.cpuMs - report.idleMs)) * 1000) / Math.max(1, counts.sent),
    acknowledged: reports.flatMap(report => [...report.acknowledged]),
    certified: found.length === 0,
    why: found.map(({ sentence }) => sentence),
    certificate: certificateOf(found, latencies),
    clean: byKind(kind => latencies[kind].clean),
    ...(journeys === undefined ? {} : { journeys }),
    incomplete: reports.some(report => report.aborted),
  }
}

const mergedOf = (parts: readonly HistogramData[]): Histogram => Histogram.merged(parts.map(Histogram.fromJSON))

const journeysOf = (parts: readonly JourneyData[]): JourneyOutcome | undefined =>
  parts.length === 0
    ? undefined
    : {
        scheduled: sumOf(parts, part => part.scheduled),
        completed: sumOf(parts, part => part.completed),
        failedAt: parts[0]!.failedAt.map((_, step) => sumOf(parts, part => part.failedAt[step]!)),
        notStarted: sumOf(parts, part => part.notStarted),
        cut: sumOf(parts, part => part.cut),
        missing: addUp(parts.map(part => part.missing)),
        duration: mergedOf(parts.map(part => part.duration)),
      }

const targetsOf = (tallies: readonly TallyData[]): TargetOutcome[] =>
  tallies[0]!.targets.map((_, target) => {
    const parts = tallies.map(tally => tally.targets[target]!)
    return { ...countsOf(parts), okLatency: mergedOf(parts.map(part => part.okLatency)) }
  })

const secondsOf = (tallies: readonly TallyData[]): LoadSecond[] => {
  const length = Math.max(...tallies.map(tally => tally.seconds.length))
  return Array.from({ length }, (_, second) => {
    const parts = tallies.flatMap(tally => tally.seconds[second] ?? [])
    return {
      second,
      ...countsOf(parts),
      okLatency: mergedOf(parts.map(part => part.okLatency)),
      shedLatency: mergedOf(parts.map(part => part.shedLatency)),
    }
  })
}
