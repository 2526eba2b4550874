/** Results of several machines that loaded one server at the same time, as one. Nothing is lost: see load/histogram.ts. Pure. */
import { formatDuration } from '../durations.ts'
import { countsOf, sumOf } from '../load/added.ts'
import { certificateOf } from '../load/certify.ts'
import { Histogram } from '../load/histogram.ts'
import {
  type Arrival,
  type ByKind,
  type Connections,
  KINDS,
  type Kind,
  type LoadOutcome,
  type LoadSecond,
  type Phase,
} from '../load/plan.ts'
import { planMs, ratesOf } from '../load/schedule.ts'
import { UserError } from '../user-error.ts'
import { type AttackDocument, documentOf, hundredths, outcomeOf, type PlanDocument } from './attack-document.ts'
import { checkRuns, differences, loadInWords, type NamedDocument, type Part, REQUEST_PARTS } from './differences.ts'

/** What must be the same for the rest to be added. */
const SAME: readonly Part[] = [
  ['version of meltlab', ({ labVersion }) => labVersion],
  ['URL', ({ url }) => url],
  ...REQUEST_PARTS,
  ['list of further requests', ({ plan }) => plan.others],
  ['number of targets with figures', ({ targets }) => targets.length],
  ['SLO', ({ plan }) => plan.sloMs, ({ plan }) => formatDuration(plan.sloMs)],
  ['timeout', ({ plan }) => plan.timeoutMs, ({ plan }) => formatDuration(plan.timeoutMs)],
  ['connect timeout', ({ plan }) => plan.connectTimeoutMs, ({ plan }) => formatDuration(plan.connectTimeoutMs)],
  ['kind of connections', ({ plan }) => plan.connections.kind],
  ['kind of load', ({ plan }) => kindOf(plan.arrival), loadInWords],
]

/** @throws UserError for what does not add up; needs at least one */
export function mergeAttacks(parts: readonly NamedDocument[]): AttackDocument {
  const first = parts[0]!
  const journeys = parts.find(({ document }) => document.journeys !== undefined)
  if (journeys !== undefined)
    throw new UserError(`${journeys.name} is a result of journeys, which merge does not add up`)
  const named = parts.map(({ name, document }) => ({ name, runs: document.runs }))
  checkRuns(named, 'whose requests would count twice; give it once')
  const [differing] = differences(SAME, parts)
  if (differing !== undefined) {
    throw new UserError(
      `these results do not add up: ${differing}; merge takes results of one command that several machines ran at the same time`,
    )
  }
  const documents = parts.map(({ document }) => document)
  const starts = documents.map(({ startedAt }) => Date.parse(startedAt))
  const startMs = Math.min(...starts)
  const apartMs = Math.max(...starts) - startMs
  if (!(apartMs <= Math.max(1000, planMs(first.document.plan) / 10))) {
    throw new UserError(
      `these results do not add up: the runs began ${(apartMs / 1000).toFixed(1)} s apart, so their rates are not of one time; start them together, with the machines' clocks set`,
    )
  }
  const offsets = starts.map(start => start - startMs)
  const outcomes = documents.map(outcomeOf)
  const { labVersion, url } = first.document
  const merged = documentOf(url, planOf(documents), outcomeOfAll(parts, outcomes, offsets), {
    labVersion,
    runs: documents.flatMap(({ runs }) => runs),
    startedAt: new Date(startMs).toISOString(),
    machines: documents.flatMap(({ machines }) => machines),
  })
  // Of each machine over its own time: one that began later did not do less.
  return { ...merged, goodputPerSecond: hundredths(sumOf(documents, document => document.goodputPerSecond)) }
}

function outcomeOfAll(
  parts: readonly NamedDocument[],
  outcomes: readonly LoadOutcome[],
  offsets: readonly number[],
): LoadOutcome {
  const merged = (read: (outcome: LoadOutcome) => Histogram): Histogram => Histogram.merged(outcomes.map(read))
  const measured: ByKind<Histogram> = {
    ok: merged(({ okLatency }) => okLatency),
    shed: merged(({ shedLatency }) => shedLatency),
    other: merged(({ otherLatency }) => otherLatency),
    failed: merged(({ failedAfter }) => failedAfter),
  }
  const byKind = <T>(of: (kind: Kind) => T): ByKind<T> =>
    Object.fromEntries(KINDS.map(kind => [kind, of(kind)])) as ByKind<T>
  const clean = byKind(kind => merged(outcome => outcome.clean[kind]))
  const { sent, ...counts } = countsOf(outcomes)
  return {
    ...{ sent, ...counts },
    unsent: sumOf(outcomes, ({ unsent }) => unsent),
    elapsedMs: Math.max(...outcomes.map(({ elapsedMs }, at) => elapsedMs + offsets[at]!)),
    bytesRead: sumOf(outcomes, ({ bytesRead }) => bytesRead),
    bodyBytes: sumOf(outcomes, ({ bodyBytes }) => bodyBytes),
    bodyBytesSent: sumOf(outcomes, ({ bodyBytesSent }) => bodyBytesSent),
    okLatency: measured.ok,
    shedLatency: measured.shed,
    otherLatency: measured.other,
    failedAfter: measured.failed,
    clean,
    sendLag: merged(({ sendLag }) => sendLag),
    seconds: secondsOf(outcomes, offsets),
    targets: outcomes[0]!.targets.map((_, at) => {
      const same = outcomes.map(({ targets }) => targets[at]!)
      return { ...countsOf(same), okLatency: Histogram.merged(same.map(({ okLatency }) => okLatency)) }
    }),
    cpuPerRequestUs: sumOf(outcomes, outcome => outcome.cpuPerRequestUs * outcome.sent) / Math.max(1, sent),
    certified: outcomes.every(({ certified }) => certified),
    why: outcomes.flatMap(({ why }, at) => why.map(sentence => `${parts[at]!.name}: ${sentence}`)),
    certificate: certificateOf(
      outcomes.flatMap(({ certificate }) => certificate.doubts),
      byKind(kind => ({ measured: measured[kind], clean: clean[kind] })),
    ),
    incomplete: outcomes.some(({ incomplete }) => incomplete),
    acknowledged: [],
  }
}

/** Each machine's seconds begin with its own start; they go to the second of the first start that they are nearest to. */
function secondsOf(outcomes: readonly LoadOutcome[], offsets: readonly number[]): LoadSecond[] {
  const aligned = outcomes.flatMap(({ seconds }, at) =>
    seconds.map(each => ({ ...each, second: each.second + Math.round(offsets[at]! / 1000) })),
  )
  const length = aligned.reduce((most, { second }) => Math.max(most, second + 1), 0)
  return Array.from({ length }, (_, second) => {
    const parts = aligned.filter(each => each.second === second)
    return {
      second,
      ...countsOf(parts),
      okLatency: Histogram.merged(parts.map(({ okLatency }) => okLatency)),
      shedLatency: Histogram.merged(parts.map(({ shedLatency }) => shedLatency)),
    }
  })
}

/** How long, and in what form, whatever the rate: what of two loads has to be alike for their rates to add up. */
function kindOf(arrival: Arrival): readonly unknown[] {
  return arrival.kind === 'closed'
    ? ['users', arrival.durationMs, arrival.thinkMs]
    : ['rate', arrival.schedule.spacing, ...arrival.schedule.phases.map(({ kind, durationMs }) => [kind, durationMs])]
}

function planOf(documents: readonly AttackDocument[]): PlanDocument {
  const plans = documents.map(({ plan }) => plan)
  return {
    ...plans[0]!,
    arrival: arrivalOf(plans.map(({ arrival }) => arrival)),
    connections: connectionsOf(plans.map(({ connections }) => connections)),
    threads: sumOf(plans, ({ threads }) => threads),
  }
}

function arrivalOf(arrivals: readonly Arrival[]): Arrival {
  const first = arrivals[0]!
  if (first.kind === 'closed') {
    return { ...first, users: sumOf(arrivals, each => (each.kind === 'closed' ? each.users : 0)) }
  }
  const schedules = arrivals.flatMap(each => (each.kind === 'open' ? each.schedule : []))
  const phases = first.schedule.phases.map((phase, at) =>
    phaseOf(
      phase,
      schedules.map(({ phases }) => phases[at]!),
    ),
  )
  return { kind: 'open', schedule: { ...first.schedule, phases } }
}

function phaseOf(first: Phase, all: readonly Phase[]): Phase {
  if (first.kind === 'constant') return { ...first, rate: sumOf(all, phase => ratesOf(phase)[0]) }
  return { ...first, fromRate: sumOf(all, phase => ratesOf(phase)[0]), toRate: sumOf(all, phase => ratesOf(phase)[1]) }
}

function connectionsOf(all: readonly Connections[]): Connections {
  const first = all[0]!
  if (first.kind === 'fresh') return first
  const standing = all.flatMap(each => (each.kind === 'keep-alive' ? each : []))
  return { ...first, count: sumOf(standing, ({ count }) => count), max: sumOf(standing, ({ max }) => max) }
}
