/**
 * The JSON document of a load run: `attack --json` prints it, `compare` and `report` read it, and schema/attack.json
 * describes it. Latencies are complete histograms, so that runs can be added exactly. Pure.
 */
import { createHash } from 'node:crypto'
import { latenciesOf } from '../load/added.ts'
import { Histogram, type HistogramData } from '../load/histogram.ts'
import type {
  ByKind,
  Certificate,
  Counts,
  JourneyOutcome,
  Kind,
  LoadOutcome,
  LoadPlan,
  LoadTarget,
  RequestHeaders,
} from '../load/plan.ts'
import { hasFields, targetsOf } from '../load/prepare.ts'
import { loadSeconds } from '../load/schedule.ts'
import { isCredential } from '../report/credential.ts'
import type { Judged } from '../report/judged.ts'
import { type LatencyFigures, latencyFigures } from '../report/load-figures.ts'
import type { Origin } from './origin.ts'

/** Increased when a reader of the older form would misread the newer. */
export const ATTACK_VERSION = 1

/** Latencies as measured, and without the generator's own delay. */
export type KindHistograms = Readonly<Record<'measured' | 'clean', HistogramData>>

interface BodyDigest {
  readonly bytes: number
  readonly sha256: string
}

export interface RequestDocument {
  readonly url: string
  readonly method: string
  readonly headers: RequestHeaders
  readonly body: BodyDigest | null
}

type Load = Pick<
  LoadPlan,
  'arrival' | 'journey' | 'connections' | 'timeoutMs' | 'connectTimeoutMs' | 'sloMs' | 'threads' | 'http2'
>

/** The plan without secrets: the values of credential headers are hidden, and the body is a digest. */
export interface PlanDocument extends Omit<RequestDocument, 'url'>, Load {
  /** Further requests, sent round robin with the plan's own. */
  readonly others: readonly RequestDocument[]
  /** True if template fields such as `{{seq}}` were replaced. */
  readonly templated: boolean
  /** True if certificates were not verified. */
  readonly insecure: boolean
}

/** The compiler rejects a new part of a plan without a place in the document: different loads would be compared. */
type Unplaced = Exclude<keyof LoadPlan, keyof PlanDocument | 'url' | 'tls' | 'acknowledged'>
true satisfies [Unplaced] extends [never] ? true : Unplaced

export interface SecondDocument extends Counts {
  readonly second: number
  readonly ok: HistogramData
  readonly shed: HistogramData
}

export interface TargetDocument extends Counts {
  readonly method: string
  readonly url: string
  readonly latencyMs: Figures
  readonly ok: HistogramData
}

type Figures = Omit<LatencyFigures, 'min'>

/** For journeys: how they ended, and how long completed ones took, with think times. */
export interface JourneysDocument extends Omit<JourneyOutcome, 'duration'> {
  readonly durationMs: Figures
  readonly duration: HistogramData
}

export interface AttackDocument extends Origin, Counts {
  readonly kind: 'attack'
  readonly version: typeof ATTACK_VERSION
  readonly url: string
  readonly plan: PlanDocument
  readonly unsent: number
  readonly elapsedMs: number
  readonly goodputPerSecond: number
  readonly bytesRead: number
  readonly bodyBytes: number
  readonly bodyBytesSent: number
  readonly cpuPerRequestUs: number
  readonly latencyMs: Figures
  readonly shedLatencyMs: Figures
  readonly otherLatencyMs: Figures
  readonly sendLagMs: Figures
  readonly certified: boolean
  readonly why: readonly string[]
  readonly certificate: Certificate
  readonly incomplete: boolean
  readonly histograms: ByKind<KindHistograms> & { readonly sendLag: HistogramData }
  readonly seconds: readonly SecondDocument[]
  /** Empty with one target, or with too many for separate figures. */
  readonly targets: readonly TargetDocument[]
  readonly journeys?: JourneysDocument
  /** The expectations of `--expect`, and their results. */
  readonly expectations: readonly Judged[]
}

export function attackDocument(
  plan: LoadPlan,
  outcome: LoadOutcome,
  origin: Origin,
  judged: readonly Judged[] = [],
): AttackDocument {
  return { ...documentOf(plan.url, planDocument(plan), outcome, origin), expectations: judged }
}

export function documentOf(url: string, plan: PlanDocument, outcome: LoadOutcome, origin: Origin): AttackDocument {
  const { okLatency, shedLatency, otherLatency, sendLag, clean, seconds, targets, journeys } = outcome
  const measured = latenciesOf(outcome)
  const pairOf = (kind: Kind): KindHistograms => ({ measured: measured[kind].toJSON(), clean: clean[kind].toJSON() })
  return {
    kind: 'attack',
    version: ATTACK_VERSION,
    ...origin,
    url,
    plan,
    scheduled: outcome.scheduled,
    sent: outcome.sent,
    unsent: outcome.unsent,
    answered: outcome.answered,
    failed: outcome.failed,
    good: outcome.good,
    bytesRead: outcome.bytesRead,
    bodyBytes: outcome.bodyBytes,
    bodyBytesSent: outcome.bodyBytesSent,
    elapsedMs: Math.round(outcome.elapsedMs),
    goodputPerSecond: hundredths(outcome.good / loadSeconds(plan, outcome)),
    cpuPerRequestUs: hundredths(outcome.cpuPerRequestUs),
    latencyMs: figures(okLatency),
    shedLatencyMs: figures(shedLatency),
    otherLatencyMs: figures(otherLatency),
    sendLagMs: figures(sendLag),
    certified: outcome.certified,
    why: outcome.why,
    certificate: outcome.certificate,
    incomplete: outcome.incomplete,
    histograms: {
      ok: pairOf('ok'),
      shed: pairOf('shed'),
      other: pairOf('other'),
      failed: pairOf('failed'),
      sendLag: sendLag.toJSON(),
    },
    seconds: seconds.map(({ okLatency: ok, shedLatency: shed, ...counts }) => ({
      ...counts,
      ok: ok.toJSON(),
      shed: shed.toJSON(),
    })),
    targets: targets.map(({ okLatency: latency, ...each }, at) => {
      const { method, url: where } = at === 0 ? { method: plan.method, url } : plan.others[at - 1]!
      return { method, url: where, ...each, latencyMs: figures(latency), ok: latency.toJSON() }
    }),
    ...(journeys === undefined ? {} : { journeys: journeysDocument(journeys) }),
    expectations: [],
  }
}

const journeysDocument = ({ duration, ...counts }: JourneyOutcome): JourneysDocument => ({
  ...counts,
  durationMs: figures(duration),
  duration: duration.toJSON(),
})

/** The outcome in a document, without `acknowledged` numbers. Throws a RangeError for an invalid histogram. */
export function outcomeOf(document: AttackDocument): LoadOutcome {
  const { histograms, journeys } = document
  const read = (kind: Kind, which: keyof KindHistograms): Histogram => Histogram.fromJSON(histograms[kind][which])
  return {
    scheduled: document.scheduled,
    sent: document.sent,
    unsent: document.unsent,
    answered: document.answered,
    failed: document.failed,
    good: document.good,
    elapsedMs: document.elapsedMs,
    bytesRead: document.bytesRead,
    bodyBytes: document.bodyBytes,
    bodyBytesSent: document.bodyBytesSent,
    cpuPerRequestUs: document.cpuPerRequestUs,
    certified: document.certified,
    why: document.why,
    certificate: document.certificate,
    incomplete: document.incomplete,
    okLatency: read('ok', 'measured'),
    shedLatency: read('shed', 'measured'),
    otherLatency: read('other', 'measured'),
    failedAfter: read('failed', 'measured'),
    clean: {
      ok: read('ok', 'clean'),
      shed: read('shed', 'clean'),
      other: read('other', 'clean'),
      failed: read('failed', 'clean'),
    },
    sendLag: Histogram.fromJSON(histograms.sendLag),
    seconds: document.seconds.map(({ ok, shed, ...counts }) => ({
      ...counts,
      okLatency: Histogram.fromJSON(ok),
      shedLatency: Histogram.fromJSON(shed),
    })),
    targets: document.targets.map(({ scheduled, sent, answered, failed, good, ok }) => ({
      ...{ scheduled, sent, answered, failed, good },
      okLatency: Histogram.fromJSON(ok),
    })),
    ...(journeys === undefined ? {} : { journeys: journeysOf(journeys) }),
    acknowledged: [],
  }
}

const journeysOf = ({ duration, durationMs: _, ...counts }: JourneysDocument): JourneyOutcome => ({
  ...counts,
  duration: Histogram.fromJSON(duration),
})

/** The plan in a document, which excludes bodies. */
export function planOfDocument({ url, plan }: AttackDocument): LoadPlan {
  const { method, headers, others } = plan
  const body = undefined
  return { url, method, headers, body, others: others.map(each => ({ ...each, body })), ...loadOf(plan) }
}

/** One line per member, and one per second of the series; expanded histograms would take a line per number. */
export function attackJson(document: AttackDocument): string {
  const members = Object.entries(document).map(([name, value]) => {
    const text =
      name === 'seconds' && document.seconds.length > 0
        ? `[\n    ${document.seconds.map(second => JSON.stringify(second)).join(',\n    ')}\n  ]`
        : JSON.stringify(value)
    return `  ${JSON.stringify(name)}: ${text}`
  })
  return `{\n${members.join(',\n')}\n}\n`
}

function planDocument(plan: LoadPlan): PlanDocument {
  const [{ method, headers, body }, ...others] = targetsOf(plan).map(requestDocument) as [RequestDocument]
  return {
    method,
    headers,
    body,
    others,
    templated: hasFields(plan),
    // Certificates and keys are secret.
    insecure: plan.tls?.insecure === true,
    ...loadOf(plan),
  }
}

/** The parts that are equal in a plan and in its document. */
function loadOf(plan: Load): Load {
  const { arrival, connections, timeoutMs, connectTimeoutMs, sloMs, threads, http2, journey } = plan
  const load = { arrival, connections, timeoutMs, connectTimeoutMs, sloMs, threads }
  return { ...load, ...(http2 === undefined ? {} : { http2 }), ...(journey === undefined ? {} : { journey }) }
}

function requestDocument({ url, method, headers, body }: LoadTarget): RequestDocument {
  return {
    url,
    method,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, isCredential(name) ? HIDDEN : value]),
    ),
    body:
      body === undefined
        ? null
        : { bytes: Buffer.byteLength(body), sha256: createHash('sha256').update(body).digest('hex') },
  }
}

/** Replaces a credential, because documents are stored by CI and shared. */
export const HIDDEN = '[hidden]'

function figures(histogram: Histogram): Figures {
  const { min: _, ...others } = latencyFigures(histogram)
  return others
}

export const hundredths = (value: number): number => Math.round(value * 100) / 100
