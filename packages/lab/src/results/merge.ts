/** Results of several machines that loaded one server at the same time, as one. Nothing is lost: see load/histogram.ts. Pure. */
import { Histogram } from '../load/histogram.ts'
import { intervalsOf } from '../load/certify.ts'
import type { Arrival, Connections, DoubtCode, LoadOutcome, LoadSecond, Phase } from '../load/plan.ts'
import { planMs } from '../load/schedule.ts'
import { UserError } from '../user-error.ts'
import { type AttackDocument, documentOf, KINDS, outcomeOf, type PlanDocument } from './attack-document.ts'
import { differences, type NamedDocument, type Part, REQUEST_PARTS } from './differences.ts'

/** What must be the same for the rest to be added. */
const SAME: readonly Part[] = [
  ['version of meltlab', ({ labVersion }) => labVersion],
  ['URL', ({ url }) => url],
  ...REQUEST_PARTS,
  ['figures of targets', ({ targets }) => targets.length],
  ['verifying of certificates', ({ plan }) => plan.insecure],
  ['SLO', ({ plan }) => plan.sloMs],
  ['timeout', ({ plan }) => plan.timeoutMs],
  ['connect timeout', ({ plan }) => plan.connectTimeoutMs],
  ['kind of connections', ({ plan }) => plan.connections.kind],
  ['kind of load', ({ plan }) => kindOf(plan.arrival)],
]

/** The gravest first, as load/plan.ts lists them. */
const GRAVEST: readonly DoubtCode[] = [
  ...(['stopped', 'frozen', 'late', 'connections', 'saturated', 'standing', 'failures', 'malformed'] as const),
]

/** @throws UserError for what does not add up; needs at least one */
export function mergeAttacks(parts: readonly NamedDocument[]): AttackDocument {
  const first = parts[0]!
  const [differing] = differences(SAME, parts)
  if (differing !== undefined) {
    const { what, first: one, other } = differing
    throw new UserError(
      `these results do not add up: the ${what} is ${one.value} in ${one.name}, ${other.value} in ${other.name}`,
    )
  }
  const documents = parts.map(({ document }) => document)
  const starts = documents.map(({ startedAt }) => Date.parse(startedAt))
  const startMs = Math.min(...starts)
  const apartMs = Math.max(...starts) - startMs
  if (!(apartMs <= Math.max(1000, planMs(first.document.plan) / 10))) {
    throw new UserError(
      `these results do not add up: the runs began ${(apartMs / 1000).toFixed(1)} s apart, so their rates are not of one time`,
    )
  }
  const offsets = starts.map(start => start - startMs)
  const outcomes = documents.map(outcomeOf)
  const { labVersion, url } = first.document
  const merged = documentOf(url, planOf(documents), outcomeOfAll(parts, outcomes, offsets), {
    labVersion,
    startedAt: new Date(startMs).toISOString(),
    machines: documents.flatMap(({ machines }) => machines),
  })
  // Of each machine over its own time: one that began later did not do less.
  const goodputPerSecond = documents.reduce((sum, document) => sum + document.goodputPerSecond, 0)
  return { ...merged, goodputPerSecond: Math.round(goodputPerSecond * 100) / 100 }
}

function outcomeOfAll(
  parts: readonly NamedDocument[],
  outcomes: readonly LoadOutcome[],
  offsets: readonly number[],
): LoadOutcome {
  const sum = (read: (outcome: LoadOutcome) => number): number =>
    outcomes.reduce((total, each) => total + read(each), 0)
  const merged = (read: (outcome: LoadOutcome) => Histogram): Histogram => Histogram.merged(outcomes.map(read))
  const measured = {
    ok: merged(({ okLatency }) => okLatency),
    shed: merged(({ shedLatency }) => shedLatency),
    other: merged(({ otherLatency }) => otherLatency),
    failed: merged(({ failedAfter }) => failedAfter),
  }
  const clean = {
    ok: merged(outcome => outcome.clean.ok),
    shed: merged(outcome => outcome.clean.shed),
    other: merged(outcome => outcome.clean.other),
    failed: merged(outcome => outcome.clean.failed),
  }
  const pairs = Object.fromEntries(KINDS.map(kind => [kind, { measured: measured[kind], clean: clean[kind] }]))
  const codes = outcomes.map(({ certificate }) => certificate.code)
  const sent = sum(outcome => outcome.sent)
  return {
    ...countsOf(outcomes),
    unsent: sum(({ unsent }) => unsent),
    elapsedMs: Math.max(...outcomes.map(({ elapsedMs }, at) => elapsedMs + offsets[at]!)),
    bytesRead: sum(({ bytesRead }) => bytesRead),
    bodyBytes: sum(({ bodyBytes }) => bodyBytes),
    bodyBytesSent: sum(({ bodyBytesSent }) => bodyBytesSent),
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
    cpuPerRequestUs: sum(outcome => outcome.cpuPerRequestUs * outcome.sent) / Math.max(1, sent),
    certified: outcomes.every(({ certified }) => certified),
    why: outcomes.flatMap(({ why }, at) => why.map(sentence => `${parts[at]!.name}: ${sentence}`)),
    certificate: {
      code: GRAVEST.find(code => codes.includes(code)) ?? 'certified',
      intervals: intervalsOf(pairs as Parameters<typeof intervalsOf>[0]),
    },
    incomplete: outcomes.some(({ incomplete }) => incomplete),
    acknowledged: [],
  }
}

type Counted = Pick<LoadOutcome, 'scheduled' | 'sent' | 'answered' | 'failed' | 'good'>

function countsOf(parts: readonly Counted[]): Counted {
  const sum = (read: (part: Counted) => number): number => parts.reduce((total, part) => total + read(part), 0)
  return {
    scheduled: sum(({ scheduled }) => scheduled),
    sent: sum(({ sent }) => sent),
    answered: added(parts.map(({ answered }) => answered)),
    failed: added(parts.map(({ failed }) => failed)),
    good: sum(({ good }) => good),
  }
}

function added(counts: readonly Readonly<Record<string, number | undefined>>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const [name, times] of counts.flatMap(each => Object.entries(each))) sum[name] = (sum[name] ?? 0) + (times ?? 0)
  return sum
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
  const sum = (read: (plan: PlanDocument) => number): number => plans.reduce((total, plan) => total + read(plan), 0)
  const first = plans[0]!
  return {
    ...first,
    arrival: arrivalOf(plans.map(({ arrival }) => arrival)),
    connections: connectionsOf(plans.map(({ connections }) => connections)),
    threads: sum(({ threads }) => threads),
  }
}

function arrivalOf(arrivals: readonly Arrival[]): Arrival {
  const first = arrivals[0]!
  if (first.kind === 'closed') {
    return { ...first, users: arrivals.reduce((sum, each) => sum + (each.kind === 'closed' ? each.users : 0), 0) }
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
  const sum = (read: (phase: Phase) => number): number => all.reduce((total, phase) => total + read(phase), 0)
  if (first.kind === 'constant') return { ...first, rate: sum(phase => (phase.kind === 'constant' ? phase.rate : 0)) }
  return {
    ...first,
    fromRate: sum(phase => (phase.kind === 'ramp' ? phase.fromRate : 0)),
    toRate: sum(phase => (phase.kind === 'ramp' ? phase.toRate : 0)),
  }
}

function connectionsOf(all: readonly Connections[]): Connections {
  const first = all[0]!
  if (first.kind === 'fresh') return first
  const standing = all.flatMap(each => (each.kind === 'keep-alive' ? each : []))
  return {
    ...first,
    count: standing.reduce((sum, { count }) => sum + count, 0),
    max: standing.reduce((sum, { max }) => sum + max, 0),
  }
}
