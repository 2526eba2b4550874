/** The JSON of a load run (schema/attack.json). Latencies are whole histograms, so that runs can be merged. Pure. */
import { createHash } from 'node:crypto'
import { byKind, latenciesOf } from '../load/added.ts'
import { Histogram, type HistogramData } from '../load/histogram.ts'
import type { ByKind, Counts, JourneyOutcome, LoadOutcome, LoadPlan, LoadTarget } from '../load/plan.ts'
import { hasFields, targetsOf } from '../load/prepare.ts'
import { loadSeconds } from '../load/schedule.ts'
import type { Judged } from '../report/attack-words.ts'
import { type LatencyFigures, latencyFigures } from '../report/load-figures.ts'
import type { Origin } from './origin.ts'

/** Increased when a reader of the older form would misread the newer. */
export const ATTACK_VERSION = 1

export interface RequestDocument extends Omit<LoadTarget, 'body'> {
  readonly body: { readonly bytes: number; readonly sha256: string } | null
}

/** Members that are equal in a plan and in its document. */
const LOAD = [
  'arrival',
  'connections',
  'timeoutMs',
  'connectTimeoutMs',
  'sloMs',
  'threads',
  'http2',
  'journey',
] as const
type Load = Pick<LoadPlan, (typeof LOAD)[number]>

/** The plan without secrets: the values of credential headers are hidden, and the body is a digest. */
export interface PlanDocument extends Omit<RequestDocument, 'url'>, Load {
  /** Further requests, sent round robin with the plan's own. */
  readonly others: readonly RequestDocument[]
  /** True if template fields such as `{{seq}}` were replaced. */
  readonly templated: boolean
  readonly insecure: boolean
}

/**
 * The compiler rejects a new part of a plan without a place in the document; otherwise different loads could be
 * compared as equal.
 */
type Unplaced = Exclude<keyof LoadPlan, keyof PlanDocument | 'url' | 'tls' | 'acknowledged'>
true satisfies [Unplaced] extends [never] ? true : Unplaced

export interface SecondDocument extends Counts {
  readonly second: number
  readonly ok: HistogramData
  readonly shed: HistogramData
}

export interface TargetDocument extends Counts, Pick<LoadTarget, 'method' | 'url'> {
  readonly latencyMs: Figures
  readonly ok: HistogramData
}

type Figures = Omit<LatencyFigures, 'min'>

/** For journeys: how they ended, and how long completed ones took, with think times. */
export interface JourneysDocument extends Omit<JourneyOutcome, 'duration'> {
  readonly durationMs: Figures
  readonly duration: HistogramData
}

/** Members that are equal in an outcome and in its document. */
const COUNTS = ['scheduled', 'sent', 'unsent', 'answered', 'failed', 'good'] as const
const BYTES = ['bytesRead', 'bodyBytes', 'bodyBytesSent'] as const
const TRUST = ['certified', 'why', 'certificate', 'incomplete'] as const
type Same = (typeof COUNTS | typeof BYTES | typeof TRUST)[number] | 'elapsedMs' | 'cpuPerRequestUs'

export interface AttackDocument extends Origin, Pick<LoadOutcome, Same> {
  readonly kind: 'attack'
  readonly version: typeof ATTACK_VERSION
  readonly url: string
  readonly plan: PlanDocument
  readonly goodputPerSecond: number
  readonly latencyMs: Figures
  readonly shedLatencyMs: Figures
  readonly otherLatencyMs: Figures
  readonly sendLagMs: Figures
  /** Latencies as measured, and without the generator's own delay. */
  readonly histograms: ByKind<Readonly<Record<'measured' | 'clean', HistogramData>>> & {
    readonly sendLag: HistogramData
  }
  readonly seconds: readonly SecondDocument[]
  /** Empty with one target, or with too many for separate figures. */
  readonly targets: readonly TargetDocument[]
  readonly journeys?: JourneysDocument
  readonly expectations: readonly Judged[]
}

/** Leaves out what is undefined. */
const pick = <T, Name extends keyof T>(from: T, names: readonly Name[]): Pick<T, Name> =>
  Object.fromEntries(names.map(name => [name, from[name]]).filter(([, value]) => value !== undefined)) as Pick<T, Name>

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
  return {
    kind: 'attack',
    version: ATTACK_VERSION,
    ...origin,
    url,
    plan,
    ...pick(outcome, [...COUNTS, ...BYTES]),
    elapsedMs: Math.round(outcome.elapsedMs),
    goodputPerSecond: hundredths(outcome.good / loadSeconds(plan, outcome)),
    cpuPerRequestUs: hundredths(outcome.cpuPerRequestUs),
    latencyMs: figures(okLatency),
    shedLatencyMs: figures(shedLatency),
    otherLatencyMs: figures(otherLatency),
    sendLagMs: figures(sendLag),
    ...pick(outcome, TRUST),
    histograms: {
      ...byKind(kind => ({ measured: measured[kind].toJSON(), clean: clean[kind].toJSON() })),
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
  const measured = byKind(kind => Histogram.fromJSON(histograms[kind].measured))
  return {
    ...pick(document, [...COUNTS, ...BYTES, ...TRUST, 'elapsedMs', 'cpuPerRequestUs']),
    okLatency: measured.ok,
    shedLatency: measured.shed,
    otherLatency: measured.other,
    failedAfter: measured.failed,
    clean: byKind(kind => Histogram.fromJSON(histograms[kind].clean)),
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
  return { url, method, headers, body, others: others.map(each => ({ ...each, body })), ...pick(plan, LOAD) }
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
    ...pick(plan, LOAD),
  }
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

/** Headers that carry credentials, by name. Reports and results are shared. */
const CREDENTIALS = /auth|cookie|key|password|secret|session|signature|token/i

export const isCredential = (headerName: string): boolean => CREDENTIALS.test(headerName)

/** Replaces a credential, because documents are stored by CI and shared. */
export const HIDDEN = '[hidden]'

function figures(histogram: Histogram): Figures {
  const { min: _, ...others } = latencyFigures(histogram)
  return others
}

const hundredths = (value: number): number => Math.round(value * 100) / 100
