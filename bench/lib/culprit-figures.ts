/**
 * Compares the stalls that bench/culprit.ts planted with the named lines, and makes the table of docs/culprit.md. Pure.
 */
import { addUp } from '../../packages/lab/src/load/added.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'
import { madeBy, measuredOn, NOT_MEASURED } from './page-table.ts'

/** Stalls that all runs plant together. */
export const TOTAL = 500
/** Shorter stalls are not judged, ms. */
export const SHORTEST_MS = 100
const FORMS = 15
/** `restMb` is memory in MB, `restShare` a share of a core, and `times` a multiple of the cost without the watcher. */
const BARS = { named: 0.95, restShare: 0.005, restMb: 4, times: 1.01 }
/** Maximum number of stored sentences about wrong names. */
const MOST_SENTENCES = 20

interface Stretch {
  readonly fromMs: number
  readonly toMs: number
}

export interface Planted extends Stretch {
  readonly form: string
  readonly route: string
  readonly file: string
  readonly line: number
}

export interface Culprit extends Stretch {
  readonly place: string
  readonly file?: string
  readonly line?: number
  readonly route?: string
}

export interface Report {
  readonly stalls: readonly Planted[]
  readonly culprits: readonly Culprit[]
  /** Other times in which the loop was blocked: the start, and the preparation of stalls. */
  readonly others: readonly Stretch[]
  /** The lines that run in `others`. */
  readonly prepares: { readonly file: string; readonly lines: readonly number[] }
}

export interface FormCounts {
  readonly right: number
  readonly unknown: number
  readonly wrong: number
  readonly rightRoute: number
  readonly wrongRoute: number
}

export interface Judged {
  readonly forms: Readonly<Record<string, FormCounts>>
  /** Records that belong to no planted stall: those with a place, and those whose place did not run at the time. */
  readonly elsewhere: { readonly named: number; readonly wrong: number }
  /** One for each wrong name, at most {@link MOST_SENTENCES}, such as `loop, 812 ms, line 113: ...`. */
  readonly sentences: readonly string[]
}

export interface PlantedFigures extends Conditions, Judged {}

/** Medians of the processes without and with the watcher, and of the ratios of the pairs of processes. */
export interface Ratio {
  readonly off: number
  readonly on: number
  readonly ratio: number
  readonly quartiles: readonly [number, number]
}

export interface CostFigures extends Conditions {
  /** Duration of the rest, the requests per second in the turns after it, and the pairs of processes. */
  readonly seconds: number
  readonly rate: number
  readonly pairs: number
  /** `leastShare` and `leastMb` belong to a process that has only a timer of 50 ms and a worker that sleeps as long. */
  readonly rest: {
    readonly offShare: number
    readonly onShare: number
    readonly leastShare: number
    readonly rssMb: number
    readonly ownMb: number
    readonly leastMb: number
  }
  readonly cpuUs: Ratio
  readonly p50Ms: Ratio
  readonly p99Ms: Ratio
}

export interface CulpritFigures {
  readonly planted?: PlantedFigures
  readonly costs?: CostFigures
  readonly missed: readonly string[]
}

const NONE: FormCounts = { right: 0, unknown: 0, wrong: 0, rightRoute: 0, wrongRoute: 0 }

/**
 * A record belongs to a stall that covers more than half of the record. It is right only if it names the line itself: a
 * range of lines is wrong. A stall without a record, or with records that name no line, is unknown.
 */
export function judged({ stalls, culprits, others, prepares }: Report): Judged {
  const forms: Record<string, FormCounts> = {}
  const sentences: string[] = []
  const matched = new Set<Culprit>()
  for (const stall of stalls) {
    // Some stalls are shorter than intended, because their amount of work is calibrated and not timed.
    if (stall.toMs - stall.fromMs < SHORTEST_MS) continue
    const found = culprits.filter(culprit => overlapMs(stall, culprit) > (culprit.toMs - culprit.fromMs) / 2)
    for (const culprit of found) matched.add(culprit)
    const named = found.filter(({ file }) => file !== undefined)
    const wrong = named.filter(culprit => !isLine(culprit, stall) || /:\d+-\d+/.test(culprit.place))
    const verdict = wrong.length > 0 ? 'wrong' : named.length > 0 ? 'right' : 'unknown'
    const routes = named.flatMap(({ route }) => route ?? [])
    const counts = forms[stall.form] ?? NONE
    forms[stall.form] = {
      ...counts,
      [verdict]: counts[verdict] + 1,
      rightRoute: counts.rightRoute + Number(routes.length > 0 && routes.every(route => route === stall.route)),
      wrongRoute: counts.wrongRoute + Number(routes.some(route => route !== stall.route)),
    }
    const about = `${stall.form}, ${Math.round(stall.toMs - stall.fromMs)} ms, line ${stall.line}`
    sentences.push(...wrong.map(({ place }) => `${about}: ${place}`))
  }
  const elsewhere = culprits.filter(culprit => culprit.file !== undefined && !matched.has(culprit))
  const strays = elsewhere.filter(
    culprit =>
      !stalls.some(stall => overlapMs(stall, culprit) > 0 && isLine(culprit, stall)) &&
      !others.some(other => overlapMs(other, culprit) > 0 && isPrepared(culprit, prepares)),
  )
  for (const { fromMs, toMs, place } of strays) {
    sentences.push(`nothing planted, ${Math.round(toMs - fromMs)} ms: ${place}`)
  }
  const kept = sentences.slice(0, MOST_SENTENCES)
  return { forms, elsewhere: { named: elsewhere.length, wrong: strays.length }, sentences: kept }
}

const overlapMs = (a: Stretch, b: Stretch): number => Math.min(a.toMs, b.toMs) - Math.max(a.fromMs, b.fromMs)

const isLine = (culprit: Culprit, { file, line }: Pick<Planted, 'file' | 'line'>): boolean =>
  culprit.file === file && culprit.line === line

const isPrepared = ({ file, line }: Culprit, prepares: Report['prepares']): boolean =>
  file === prepares.file && line !== undefined && prepares.lines.includes(line)

export function added(a: Judged | undefined, b: Judged): Judged {
  if (a === undefined) return b
  const forms = { ...a.forms }
  for (const [form, counts] of Object.entries(b.forms)) forms[form] = plus(forms[form] ?? NONE, counts)
  return {
    forms,
    elsewhere: { named: a.elsewhere.named + b.elsewhere.named, wrong: a.elsewhere.wrong + b.elsewhere.wrong },
    sentences: [...a.sentences, ...b.sentences].slice(0, MOST_SENTENCES),
  }
}

const plus = (...counts: readonly FormCounts[]): FormCounts =>
  addUp([NONE, ...counts].map(each => ({ ...each }))) as unknown as FormCounts

export const sumOf = ({ forms }: Pick<Judged, 'forms'>): FormCounts => plus(...Object.values(forms))

export const stallsIn = ({ right, unknown, wrong }: FormCounts): number => right + unknown + wrong

export function missedBars({ planted, costs }: Omit<CulpritFigures, 'missed'>): string[] {
  return [...(planted === undefined ? [] : missedNames(planted)), ...(costs === undefined ? [] : missedCosts(costs))]
}

function missedNames(planted: PlantedFigures): string[] {
  const all = sumOf(planted)
  const stray = planted.elsewhere.wrong
  return [
    ...(all.right >= BARS.named * stallsIn(all) ? [] : [`${all.right} of ${stallsIn(all)} were named, below 95 %`]),
    ...(all.wrong + stray === 0 ? [] : [`${all.wrong} stalls were named wrong, and ${stray} where none was planted`]),
    ...(all.wrongRoute === 0 ? [] : [`${all.wrongRoute} stalls have the wrong route`]),
    ...(Object.keys(planted.forms).length === FORMS ? [] : [`only ${Object.keys(planted.forms).length} forms`]),
  ]
}

function missedCosts({ rest, cpuUs, p50Ms, p99Ms }: CostFigures): string[] {
  const share = rest.onShare - rest.offShare
  const ratios = { 'the CPU of a request': cpuUs, 'the median latency': p50Ms, 'the p99': p99Ms }
  return [
    ...(share <= BARS.restShare ? [] : [`${percent(share)} of a core at rest, above ${percent(BARS.restShare)}`]),
    ...(rest.ownMb <= BARS.restMb ? [] : [`${rest.ownMb.toFixed(1)} MB at rest, above ${BARS.restMb}`]),
    ...Object.entries(ratios).flatMap(([what, { ratio }]) =>
      ratio <= BARS.times ? [] : [`${what} is ${ratio.toFixed(3)} times that without, above ${BARS.times}`],
    ),
  ]
}

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`
const times = ({ ratio, quartiles: [low, high] }: Ratio): string =>
  `${ratio.toFixed(3)} times (quartiles ${low.toFixed(3)} to ${high.toFixed(3)})`

export function culpritTable({ planted, costs }: Partial<CulpritFigures> = {}): string {
  const of = <T>(part: T | undefined, read: (part: T) => string): string =>
    part === undefined ? NOT_MEASURED : read(part)
  const named = (read: (all: FormCounts, planted: PlantedFigures) => string): string =>
    of(planted, all => read(sumOf(all), all))
  const atMost = `${BARS.times} times`
  return markdownTable(
    [madeBy('culprit'), 'bar', 'measured'],
    [
      [
        `stalls of 100 ms to 3 s in ${FORMS} forms, named with the right line`,
        `95 % of ${TOTAL}`,
        named(all => `${((100 * all.right) / stallsIn(all)).toFixed(1)} %, ${all.right} of ${stallsIn(all)}`),
      ],
      ['named `unknown`, or not at all', '', named(all => String(all.unknown))],
      [
        'named with another line, a range of lines, or where no stall was planted',
        'none',
        named((all, { elsewhere }) => String(all.wrong + elsewhere.wrong)),
      ],
      ['named with another route', 'none', named(all => String(all.wrongRoute))],
      [
        'at rest, share of a core',
        percent(BARS.restShare),
        of(costs, ({ rest }) => `${percent(rest.onShare - rest.offShare)} more than ${percent(rest.offShare)}`),
      ],
      [
        'a timer of 50 ms and a worker that sleeps as long, nothing else',
        '',
        of(costs, ({ rest }) => `${percent(rest.leastShare)} of a core, ${rest.leastMb.toFixed(1)} MB`),
      ],
      [
        'at rest, memory',
        `${BARS.restMb} MB`,
        of(costs, ({ rest }) => `${rest.ownMb.toFixed(1)} MB of its own, ${rest.rssMb.toFixed(1)} MB of rss`),
      ],
      [
        of(costs, ({ pairs, rate }) => `CPU of a request, ${pairs} pairs of processes, ${rate} requests per second`),
        atMost,
        of(costs, ({ cpuUs }) => times(cpuUs)),
      ],
      ['its median latency', atMost, of(costs, ({ p50Ms }) => times(p50Ms))],
      ['its p99', atMost, of(costs, ({ p99Ms }) => times(p99Ms))],
      ['names measured on', '', of(planted, measuredOn)],
      ['costs measured on', '', of(costs, measuredOn)],
    ],
  )
}
