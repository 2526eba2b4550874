/**
 * What a scenario found: the content of its result.json, and all that its text, its page and its pictures are drawn from.
 * Plain data. Durations in milliseconds, memory in bytes, rates per second; words are ready to be read.
 */

/** How long a scenario takes: only to see that it works, about a minute, or as published. */
export type Form = 'brief' | 'quick' | 'full'

export interface ScenarioArm {
  readonly name: string
  /** Decides its colour and mark. */
  readonly kind: 'bare' | 'protected' | 'also'
  /** How the arm was made, in one sentence. */
  readonly what: string
}

export interface PublishedFigure {
  readonly what: string
  readonly value: string
  /** The same figure here, or why it cannot appear any more. Results of older versions have none. */
  readonly ours?: string
}

export interface Table {
  readonly title: string
  readonly note?: string
  readonly columns: readonly string[]
  /** `arm` is the name of an arm, for its colour; the first cell is the row's name. */
  readonly rows: readonly { readonly arm?: string; readonly cells: readonly string[] }[]
}

/** How the values of an axis read. Of a percentile the value is 1 / (1 - quantile). */
export type Unit = 'ms' | 's' | 'rate' | 'count' | 'MB' | 'percent' | 'multiple' | 'percentile'

export interface Axis {
  readonly label: string
  readonly unit: Unit
  /** @default 'linear' */
  readonly scale?: 'linear' | 'log'
  /** Round values unless given. */
  readonly ticks?: readonly number[]
}

/** A horizontal line with a meaning, such as a limit. */
export interface Level {
  readonly value: number
  readonly name: string
}

/** A dotted line with a meaning that is no arm's, such as the ideal. */
export interface Guide {
  readonly name: string
  readonly points: readonly (readonly [number, number])[]
}

interface AnyPlot {
  readonly title: string
  readonly note?: string
  /** Plots with the same heading here are folded away together. */
  readonly fold?: string
  readonly y: Axis
}

/** One line per series; a null is a gap. */
export interface LinesPlot extends AnyPlot {
  readonly kind: 'lines'
  readonly x: Axis
  readonly series: readonly { readonly arm: string; readonly points: readonly (readonly [number, number | null])[] }[]
  readonly levels?: readonly Level[]
  readonly guide?: Guide
}

/** Groups of bars, one bar per arm that has a value there. A single group lies on its side and needs no label. */
export interface BarsPlot extends AnyPlot {
  readonly kind: 'bars'
  readonly groups: readonly {
    readonly label: string
    readonly bars: readonly { readonly arm: string; readonly value: number }[]
  }[]
  readonly levels?: readonly Level[]
}

export interface PanelLine {
  readonly name: string
  /** In the arm's colour, a grey line, or an area down to the axis. */
  readonly style: 'arm' | 'solid' | 'dashed' | 'dotted' | 'area'
  readonly points: readonly (readonly [x: number, y: number])[]
}

/** A panel for each arm, all on the same axes. Lines of one name are alike in all of them. */
export interface PanelsPlot extends AnyPlot {
  readonly kind: 'panels'
  readonly x: Axis
  /** Something happens there. */
  readonly mark: { readonly at: number; readonly name: string }
  readonly panels: readonly { readonly arm: string; readonly says: string; readonly lines: readonly PanelLine[] }[]
}

/** Two figures against each other: a point for each arm, in a panel for each load. Better is up and to the left. */
export interface PointsPlot extends AnyPlot {
  readonly kind: 'points'
  readonly x: Axis
  readonly panels: readonly {
    readonly label: string
    /** A horizontal line that no arm can be expected to be above. */
    readonly ideal: Level
    /** Without `x` a point stands to the right of the axis, above `none`. */
    readonly points: readonly { readonly arm: string; readonly x: number | null; readonly y: number }[]
  }[]
}

export type Plot = LinesPlot | BarsPlot | PanelsPlot | PointsPlot

/** Text as a tool would print it, kept as it is. */
export interface Printout {
  readonly title: string
  readonly text: string
}

/** What a reader takes away of an arm in a second. */
export interface Standing {
  readonly arm: string
  /** Such as `melts at 2x`. */
  readonly says: string
  /** Good and bad have a colour and a sign; none, where no verdict can be given, is grey. */
  readonly tone: 'good' | 'fair' | 'bad' | 'none'
  /** The one figure that shows it, such as `177/s`, and what it is of. */
  readonly figure: string
  readonly of: string
}

/** What a scenario has to show of its figures. */
export interface View {
  /** The verdict strip: one entry per arm, in their order. Results of older versions have none. */
  readonly standings?: readonly Standing[]
  /** Why no arm can be judged by its speed, and what to do; absent when all can. */
  readonly unjudged?: string | undefined
  /** The result in one sentence, with figures. */
  readonly finding: string
  readonly tables: readonly Table[]
  /** The first one is also written as a picture of its own. */
  readonly plots: readonly Plot[]
  readonly printouts?: readonly Printout[]
  /** Its rows in the tables that a page about several results begins with; results share those with the same title. */
  readonly overviews?: readonly Table[]
}

export interface Verdict {
  /** What was expected, as a sentence. */
  readonly name: string
  readonly verdict: 'pass' | 'fail' | 'not judged'
  /** What was measured, with figures; for what was not judged, why not. */
  readonly measured: string
}

export interface ScenarioConditions {
  /** As typed, for the reader who wants to repeat it. */
  readonly commandLine: string
  readonly labVersion: string
  /** Of the checkout it was measured in; with `+` when the code had other changes. Results of older versions have none. */
  readonly commit?: string
  readonly node: string
  /** Of the measured commands, where one was given and it is known. `node` is the lab's. */
  readonly appNode?: readonly string[]
  readonly platform: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  /** Cores of the app under test, of its dependencies and of the lab; null when they shared the machine freely. */
  readonly pinning: { readonly server: number; readonly dependency: number; readonly lab: number } | null
  /** Of the scenario's script and apps, in a checkout of the repository: a result of another script is measured again. */
  readonly script?: string
  /** Cores' worth of CPU that others used, on average and at worst over a second or so; null where unknown. */
  readonly foreign: { readonly mean: number; readonly worst: number } | null
}

export interface ScenarioResult extends View {
  readonly kind: 'scenario'
  readonly version: 1
  readonly name: string
  readonly title: string
  readonly story: string
  readonly form: Form
  /** ISO 8601. */
  readonly startedAt: string
  readonly elapsedMs: number
  /** True when the run was cut short; what was measured until then is here. */
  readonly incomplete: boolean
  /** False when something makes the figures doubtful; `why` says what, in sentences. */
  readonly certified: boolean
  readonly why: readonly string[]
  readonly conditions: ScenarioConditions
  readonly arms: readonly ScenarioArm[]
  readonly published: readonly PublishedFigure[]
  readonly verdicts: readonly Verdict[]
  /** The figures themselves, as the scenario keeps them. */
  readonly measured: unknown
}
