/** Decides whether an app recovered: three successive seconds with nearly every request answered in time. Pure. */
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { MAX_FOREIGN_CORES } from '../processes/foreign-cpu.ts'
import { formatCount, formatMultiple, formatPercent } from '../report/format.ts'
import type { LinesPlot, ScenarioArm, Table } from '../report/result.ts'
import { tableOf } from '../report/tables.ts'
import { offer, type Target } from './load-plans.ts'
import type { Capacity, MeltMeasured, Recoveries, Recovery, RecoveryShape, SecondResult } from './measured.ts'
import type { UnderLoad } from './step.ts'
import { goodLostIn, isWell, NEARLY_ALL, secondOf, speedOf } from './summary.ts'

/**
 * The load before and after a spike, as a multiple of the capacity. Every app can serve it: closer to the capacity, a
 * small drift would be an overload.
 */
export const SAFE_LOAD = 0.8
/** If the load was more than this share of the capacity at the end of the run, there is no verdict. */
const MOST_AFTER = 0.9
export const WINDOW_S = 3

/** The reason for no verdict about a recovery. */
export const LATE_BEFORE = 'it was late before the spike'

export const lengthMs = ({ beforeS, spikeS, afterS }: RecoveryShape): number => 1000 * (beforeS + spikeS + afterS)

export function recoveryPlan(target: Target, capacity: number, shape: RecoveryShape): LoadPlan {
  const { beforeS, spike, spikeS, afterS, retries } = shape
  const phase = (multiple: number, seconds: number) =>
    ({ kind: 'constant', rate: multiple * capacity, durationMs: 1000 * seconds }) as const
  // With `crowd`, requests after the spike do not wait behind those of the spike in the generator's queue.
  const plan = offer(target, spike * capacity * (1 + retries), lengthMs(shape), true)
  const phases = [phase(SAFE_LOAD, beforeS), phase(spike, spikeS), phase(SAFE_LOAD, afterS)]
  const { spacing } = target
  return { ...plan, arrival: { kind: 'open', schedule: { phases, spacing, seed: 1 }, retries } }
}

type Seen = Pick<UnderLoad<LoadOutcome>, 'outcome' | 'died' | 'foreign' | 'coreSpeed'>

export function recoveryOf(
  arm: string,
  shape: RecoveryShape,
  { outcome, died, foreign, coreSpeed }: Seen,
  { sloMs, capacity }: { readonly sloMs: number; readonly capacity: Pick<Capacity, 'coreSpeed'> },
): Recovery {
  const { beforeS, spikeS, afterS } = shape
  const starts = Array.from({ length: spikeS + afterS - WINDOW_S + 1 }, (_, at) => beforeS + at)
  const slowest = Math.min(...starts.map(from => speedOf(coreSpeed({ from, to: from + WINDOW_S }), capacity)))
  return recoveryFrom(arm, shape, {
    seconds: outcome.seconds.map(each => secondOf(each, sloMs)),
    died: died !== null,
    isDisturbed: (foreign ?? 0) > MAX_FOREIGN_CORES,
    isCoreSlow: SAFE_LOAD / slowest > MOST_AFTER,
    isGeneratorLate,
  })

  /** A late generator makes an app look worse; one that does not send makes it look better. */
  function isGeneratorLate(isBack: boolean): boolean {
    const { good, unsent, scheduled } = outcome
    if (isBack) return unsent > (1 - NEARLY_ALL) * scheduled
    return goodLostIn(outcome, sloMs) > (1 - NEARLY_ALL) * good
  }
}

/** The observations of one run, with any load generator. */
export interface Shown extends Pick<Recovery, 'died' | 'seconds'> {
  readonly isDisturbed: boolean
  /** True if the load after the spike was nearly all that the core could do in its slowest seconds since the spike. */
  readonly isCoreSlow: boolean
  /** True if the generator's lateness may be the reason why the app was back, or was not. */
  readonly isGeneratorLate: (isBack: boolean) => boolean
}

export function recoveryFrom(
  arm: string,
  shape: RecoveryShape,
  { seconds, died, isDisturbed, isCoreSlow, isGeneratorLate }: Shown,
): Recovery {
  const back = died ? null : backAfterS(seconds, shape.beforeS + shape.spikeS)
  return { arm, backAfterS: back, died, unsure: whyUnsure(), seconds }

  function whyUnsure(): string | null {
    if (isDisturbed) return 'something else used more than a tenth of the server’s core'
    if (isCoreSlow && back !== 0 && !died) return 'the server’s core was slower than while the capacity was measured'
    if (isGeneratorLate(back !== null)) return 'the generator itself was late'
    if (!shape.isOutage) return isWell(seconds[shape.beforeS - 1]) ? null : LATE_BEFORE
    // Requests due just before the silence wait during it.
    return isWell(seconds[shape.beforeS - 2]) ? null : 'it was late even with its dependency'
  }
}

function backAfterS(seconds: readonly SecondResult[], from: number): number | null {
  for (let at = from; at + WINDOW_S <= seconds.length; at++) {
    if (seconds.slice(at, at + WINDOW_S).every(isWell)) return at - from
  }
  return null
}

/** True if the app could serve the load after a spike. Each recovery is judged by the core's speed during it. */
export function isCarried(capacity: MeltMeasured['capacity']): boolean {
  if (capacity === null) return true
  const { before, after } = capacity
  if (after === null || after >= before) return true
  return SAFE_LOAD * (1 + (capacity.ownDrift ?? before / after - 1)) <= MOST_AFTER
}

/** For each arm that can be judged, the median of its rounds. */
export function judgedRecoveries(measured: Pick<MeltMeasured, 'recovery' | 'capacity'>): Recoveries | undefined {
  const { recovery, capacity } = measured
  if (recovery === undefined || !isCarried(capacity)) return undefined
  const sure = recovery.arms.filter(({ unsure }) => unsure === null)
  const lasted = ({ backAfterS: lastedS }: Recovery): number => lastedS ?? Number.POSITIVE_INFINITY
  const middle = [...Map.groupBy(sure, ({ arm }) => arm).values()].map(
    rounds => rounds.toSorted((a, b) => lasted(a) - lasted(b))[rounds.length >> 1]!,
  )
  return { ...recovery, arms: middle }
}

export function backInWords({ backAfterS, died }: Recovery, shape: RecoveryShape): string {
  if (died) return 'dead'
  if (backAfterS === null) return `not back within ${shape.afterS - WINDOW_S} s`
  return backAfterS === 0 ? 'back at once' : `back after ${backAfterS} s`
}

/** Such as `3 s at 10x from clients that retry twice`, or `5 s without its dependency`. */
export const spikeInWords = ({ spike, spikeS, retries, isOutage }: RecoveryShape): string =>
  isOutage
    ? `${spikeS} s without its dependency`
    : `${spikeS} s at ${formatMultiple(spike)}${retries === 0 ? '' : ` from clients that retry ${timesInWords(retries)}`}`

const timesInWords = (times: number): string => ['never', 'once', 'twice'][times] ?? `${times} times`

/** The recovery of bare and protected, to be appended to a sentence; empty if neither can be judged. */
export function recoverySentence(
  judged: Recoveries | undefined,
  arms: readonly Pick<ScenarioArm, 'name' | 'kind'>[],
): string {
  const said = (judged?.arms ?? []).flatMap(recovery => {
    const kind = arms.find(({ name }) => name === recovery.arm)?.kind
    return kind === 'bare' || kind === 'protected' ? [`the ${kind} app is ${backInWords(recovery, judged!.shape)}`] : []
  })
  return said.length === 0 ? '' : ` After ${spikeInWords(judged!.shape)}, ${said.join(' and ')}.`
}

export function recoveryTable({ arms, shape }: Recoveries): Table {
  const after = ({ seconds }: Recovery, of: (second: SecondResult) => number): string =>
    formatCount(seconds.slice(shape.beforeS + shape.spikeS).reduce((sum, second) => sum + of(second), 0))
  return tableOf(
    {
      title: `After ${spikeInWords(shape)}`,
      note:
        `Requests due in the ${shape.afterS} s at ${formatMultiple(SAFE_LOAD)} of the capacity that follow. Back: from then on, in each of ` +
        `${WINDOW_S} seconds, ${formatPercent(NEARLY_ALL)} of the requests were answered in time. ${CLIENTS}`,
    },
    arms,
    [
      ['', ({ arm }) => arm],
      ['', each => each.unsure ?? backInWords(each, shape)],
      ['requests', each => after(each, second => second.offered)],
      ['in time', each => after(each, second => second.goodput)],
      ['late', each => after(each, second => second.late + second.shedLate)],
      ['shed', each => after(each, second => second.shed - second.shedLate)],
      ['failed', each => after(each, second => second.failed + second.otherStatus + second.unsent)],
    ],
  )
}

export const CLIENTS =
  'A client retries after a refusal, an error or its timeout, first after 50 to 150 ms, then after 100 to 300 ms.'

/** The share answered in time, second by second; the spike ends at 0. */
export function recoveryPlot({ arms, shape }: Recoveries): LinesPlot {
  const { beforeS, spike, spikeS, afterS } = shape
  const backS = beforeS + spikeS
  const low = (100 * SAFE_LOAD) / spike
  return {
    kind: 'lines',
    title: `Recovery after ${spikeInWords(shape)}`,
    note: `The dotted line is the load without retries: ${formatMultiple(spike)} of the capacity at its top, ${formatMultiple(SAFE_LOAD)} before and after.`,
    x: {
      label: 'when the request was due, since the end of the spike',
      unit: 's',
      ticks: [-backS, -spikeS, 0, 5, 10, 15].filter(at => at <= afterS),
    },
    y: { label: 'of the requests, answered in time', unit: 'percent' },
    series: arms.map(({ arm, seconds }) => ({
      arm,
      points: seconds.map(({ second, offered, goodput }) => [
        second - backS + 0.5,
        offered === 0 ? null : (100 * goodput) / offered,
      ]),
    })),
    guide: {
      name: 'the load',
      points: [
        [-backS, low],
        [-spikeS, low],
        [-spikeS, 100],
        [0, 100],
        [0, low],
        [afterS, low],
      ],
    },
  }
}
