/** Shows when the apps of apps/ recover after a spike, as a page. Pure. */
import type { Recovery, RecoveryShape, SecondResult } from '../../packages/lab/src/melt/measured.ts'
import { backInWords, CLIENTS, SAFE_LOAD, spikeInWords, WINDOW_S } from '../../packages/lab/src/melt/recovery.ts'
import { isWell } from '../../packages/lab/src/melt/summary.ts'
import { formatList, formatMultiple, formatPercent, formatRate } from '../../packages/lab/src/report/format.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'

export const SHAPE: RecoveryShape = { beforeS: 3, spike: 10, spikeS: 3, afterS: 13, retries: 2 }
/** The reason for no verdict where the runs of an arm were disturbed. */
export const DISTURBED = 'something else used more than a tenth of a core'
/** A protected app must recover within this time, s. */
export const BAR_S = 5

export interface AppRecovery extends Conditions {
  readonly title: string
  /** Capacity that the search of `meltlab melt` found, in a closed loop, requests per second. */
  readonly searched: number
  /** The searched capacity, or the highest lower step at which the bare app carried 0.8x in an open loop. */
  readonly capacity: number
  /**
   * Why each higher step was rejected, the highest first. Missing in older results, whose steadiness was not verified.
   */
  readonly lowered?: readonly string[]
  readonly bare: ArmRecovery
  readonly protected: ArmRecovery
}

export interface ArmRecovery extends Recovery {
  /** Cores of CPU that other processes used during the run. Missing in older results. */
  readonly others?: number
  /** Runs that were discarded because other processes used too much CPU. */
  readonly disturbed?: number
}

export const isJudged = (app: AppRecovery): boolean =>
  failsBefore(app) || (app.bare.unsure === null && app.protected.unsure === null)

const before = ({ seconds }: Recovery): SecondResult | undefined => seconds[SHAPE.beforeS - 1]

/** If the bare app carried the load before the spike, the protected app must too, whatever happens in the spike. */
const failsBefore = ({ bare, protected: mine }: AppRecovery): boolean =>
  [bare, mine].every(({ unsure }) => unsure !== DISTURBED) && isWell(before(bare)) && !isWell(before(mine))

export const meetsBar = (app: AppRecovery): boolean => {
  const { unsure, backAfterS } = app.protected
  return !failsBefore(app) && unsure === null && backAfterS !== null && backAfterS <= BAR_S
}

/** The apps that can be judged and their seconds, for pages that quote them. */
export function summaryOf(apps: readonly AppRecovery[]): {
  readonly judged: readonly AppRecovery[]
  readonly back: readonly AppRecovery[]
  readonly bareBack: readonly AppRecovery[]
  readonly slowestS: number
} {
  const judged = apps.filter(isJudged)
  const back = judged.filter(meetsBar)
  return {
    judged,
    back,
    bareBack: judged.filter(app => app.bare.backAfterS !== null),
    slowestS: Math.max(...back.map(app => app.protected.backAfterS ?? 0)),
  }
}

export function recoveryPage(results: Readonly<Record<string, AppRecovery>>, known: number): string {
  const apps = Object.values(results).sort((a, b) => a.title.localeCompare(b.title))
  const { judged, back, bareBack } = summaryOf(apps)
  return `# Whether apps come back by themselves

Written by \`node bench/recovery.ts\` from \`bench/results/recovery.json\`; not by hand. The [${known} apps](apps.md) from npm are
started bare and with \`--import meltproof/register\`, without options, and each is asked on its most expensive route: ${formatMultiple(SAFE_LOAD)} of its
capacity for ${SHAPE.beforeS} s, then ${spikeInWords(SHAPE)}, then ${formatMultiple(SAFE_LOAD)} for ${SHAPE.afterS} s. An app counts as back at the first of ${WINDOW_S} consecutive
seconds in each of which 99 % of the requests got a 2xx or 3xx within a second. A shed request counts as not answered.

**${back.length} of ${judged.length} protected apps were back within ${BAR_S} s. Bare, ${bareBack.length} of them were back within ${SHAPE.afterS - WINDOW_S} s.**${unmeasured(apps, judged, known)}${olderOf(apps)}

${markdownTable(
  ['', 'capacity', 'bare', 'protected', 'kept in the spike', "others' CPU"],
  apps.map(app => [
    app.title,
    `${formatRate(app.capacity)}/s`,
    inWords(app.bare),
    failsBefore(app) ? failedBefore(app.protected) : inWords(app.protected),
    `${keptOf(app.bare, app.capacity)}, ${keptOf(app.protected, app.capacity)}`,
    [app.bare, app.protected].map(({ others }) => others?.toFixed(2) ?? '–').join(', '),
  ]),
)}

- **Clients**: ${CLIENTS} They leave after 5 s.
- **Capacity**: the rate that the search of \`meltlab melt\` finds, provided the bare app can sustain ${formatMultiple(SAFE_LOAD)} of it: for 8 s of evenly spaced
  requests, 99 % of each second's requests are answered within a second, and the median answer time at most doubles. If it does not, the capacity is
  divided by 1.1, the ratio by which two searches may differ, until it does. The search is a closed loop, in which users wait for their answers, and may find a higher rate than the app can sustain in an open loop.
- **Kept in the spike**: goodput during the ${formatMultiple(SHAPE.spike)} spike as a share of the capacity: bare, then protected.
- **Others' CPU**: cores' worth that other processes of the machine used during the bare and the protected run. A run with more
  than a tenth is repeated. Server and load are on different cores. One run each.

${loweredOf(apps)}## Measured on

In brackets is the load average of the minute before.

${machinesOf(apps)}
`
}

const inWords = (recovery: Recovery): string => recovery.unsure ?? backInWords(recovery, SHAPE)

function failedBefore(recovery: Recovery): string {
  const { offered, goodput, shed } = before(recovery)!
  return `before the spike: ${formatRate(shed)} of ${formatRate(offered)} shed, ${formatRate(goodput)} answered in time`
}

/** Goodput during the spike as a share of the capacity. */
function keptOf({ seconds }: Recovery, capacity: number): string {
  const spike = seconds.slice(SHAPE.beforeS, SHAPE.beforeS + SHAPE.spikeS)
  return formatPercent(spike.reduce((sum, { goodput }) => sum + goodput, 0) / spike.length / capacity)
}

function unmeasured(apps: readonly AppRecovery[], judged: readonly AppRecovery[], known: number): string {
  const unsure = apps.filter(app => !judged.includes(app)).map(app => app.title)
  const failing = judged.filter(failsBefore).map(app => app.title)
  const parts = [
    ...(failing.length === 0
      ? []
      : [`Before the spike, ${formatList(failing)} carried the load without meltproof, but not with it.`]),
    ...(unsure.length === 0
      ? []
      : [`${formatList(unsure)} ${unsure.length === 1 ? 'was' : 'were'} not judged; the table gives the reason.`]),
    ...(apps.length === known ? [] : [`${known - apps.length} of the ${known} were not measured.`]),
  ]
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`
}

function olderOf(apps: readonly AppRecovery[]): string {
  const older = apps.filter(({ lowered }) => lowered === undefined).map(({ title }) => title)
  if (older.length === 0) return ''
  const which = older.length === apps.length ? 'All results' : `The results of ${formatList(older)}`
  return (
    `\n\n${which} predate two checks: whether the bare app can sustain ${formatMultiple(SAFE_LOAD)} of the capacity in an open loop, and how ` +
    'much CPU other processes used. The load averages of the machine are below.'
  )
}

function loweredOf(apps: readonly AppRecovery[]): string {
  const lines = apps
    .map(each => ({ lowered: [], ...each }))
    .filter(({ lowered }) => lowered.length > 0)
    .map(
      ({ title, searched, capacity, lowered }) =>
        `- **${title}**: ${formatRate(searched)}/s was found, and ${formatRate(capacity)}/s kept. At ${formatMultiple(SAFE_LOAD)} of what was tried: ${lowered.join('; ')}.`,
    )
  return lines.length === 0 ? '' : `## Capacities that were lowered\n\n${lines.join('\n')}\n\n`
}

function machinesOf(apps: readonly AppRecovery[]): string {
  const places = Map.groupBy(
    apps,
    ({ date, commit = 'commit unknown', node, cores, cpu, kernel }) =>
      `${date}: ${commit}, Node ${node}, ${cores} cores of ${cpu}, Linux ${kernel}`,
  )
  return [...places]
    .map(
      ([place, those]) => `- ${place}: ${those.map(({ title, loadBefore }) => `${title} (${loadBefore})`).join(', ')}.`,
    )
    .join('\n')
}
