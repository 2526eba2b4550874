/** The content of a scenario's result.json. Durations in ms, memory in bytes, rates per second; texts are final. */

/** Duration of a scenario: a short functional check, one to five minutes, or as published. */
export type Form = 'brief' | 'quick' | 'full'

export interface ScenarioArm {
  readonly name: string
  /** Determines its colour and mark. */
  readonly kind: 'bare' | 'protected' | 'also'
  /** How the arm was started, in one sentence. */
  readonly what: string
}

export interface PublishedFigure {
  readonly what: string
  readonly value: string
  /** The same figure here, or why it can no longer occur. Results of older versions have none. */
  readonly ours?: string
}

export interface Table {
  readonly title: string
  readonly note?: string
  readonly columns: readonly string[]
  /** `arm` is the name of an arm, which sets the colour; the first cell is the row's name. */
  readonly rows: readonly { readonly arm?: string; readonly cells: readonly string[] }[]
}

/** How axis values are written. For `percentile` the value is 1 / (1 - quantile). */
export type Unit = 'ms' | 's' | 'rate' | 'count' | 'MB' | 'percent' | 'multiple' | 'percentile'

export interface Axis {
  readonly label: string
  readonly unit: Unit
  /** @default 'linear' */
  readonly scale?: 'linear' | 'log'
  /** @default round values */
  readonly ticks?: readonly number[]
}

/** A horizontal line that marks a value, such as a limit. */
export interface Level {
  readonly value: number
  readonly name: string
}

/** A dotted line that belongs to no arm, such as the ideal. */
export interface Guide {
  readonly name: string
  readonly points: readonly (readonly [number, number])[]
}

interface AnyPlot {
  readonly title: string
  readonly note?: string
  /** Plots with the same heading are folded together. */
  readonly fold?: string
  readonly y: Axis
}

/** One line for each series; null makes a gap. */
export interface LinesPlot extends AnyPlot {
  readonly kind: 'lines'
  readonly x: Axis
  readonly series: readonly { readonly arm: string; readonly points: readonly (readonly [number, number | null])[] }[]
  readonly levels?: readonly Level[]
  readonly guide?: Guide
}

/** A group has a bar for each arm with a value. A single group is drawn horizontally and needs no label. */
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
  /** `arm`: in the arm's colour; `area`: filled down to the axis; the others are grey lines. */
  readonly style: 'arm' | 'solid' | 'dashed' | 'dotted' | 'area'
  readonly points: readonly (readonly [x: number, y: number])[]
}

/** One panel for each arm, all on the same axes. Lines with the same name look the same in all panels. */
export interface PanelsPlot extends AnyPlot {
  readonly kind: 'panels'
  readonly x: Axis
  /** The time of an event. */
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
    /** A point whose `x` is null stands to the right of the axis, above `none`. */
    readonly points: readonly { readonly arm: string; readonly x: number | null; readonly y: number }[]
  }[]
}

export type Plot = LinesPlot | BarsPlot | PanelsPlot | PointsPlot

/** The verdict on an arm, for a quick look. */
export interface Standing {
  readonly arm: string
  /** Such as `melts at 2x`. */
  readonly says: string
  /** Each tone has a colour and a sign; `none` means no verdict, in grey. */
  readonly tone: 'good' | 'fair' | 'bad' | 'none'
  /** The most important figure, such as `177/s`, and its meaning. */
  readonly figure: string
  readonly of: string
}

/** How a scenario presents its figures. */
export interface View {
  /** The verdicts in the order of the arms. Results of older versions have none. */
  readonly standings?: readonly Standing[]
  /** Why no arm can be judged by its speed, and what to do; absent if all can. */
  readonly unjudged?: string | undefined
  /** The result in one sentence, with figures. */
  readonly finding: string
  readonly tables: readonly Table[]
  /** The first plot is also written as a separate picture. */
  readonly plots: readonly Plot[]
  /** Outputs of a tool, unchanged. */
  readonly printouts?: readonly { readonly title: string; readonly text: string }[]
  /** The scenario's rows in the tables above several results; tables with the same title are merged. */
  readonly overviews?: readonly Table[]
}

export interface Verdict {
  /** The expectation, as a sentence. */
  readonly name: string
  readonly verdict: 'pass' | 'fail' | 'not judged'
  /** The measured figures, or why the expectation was not judged. */
  readonly measured: string
}

export interface ScenarioConditions {
  /** The command as typed, for readers who want to repeat it. */
  readonly commandLine: string
  readonly labVersion: string
  /** The commit of the checkout; with `+` if the code had uncommitted changes. Results of older versions have none. */
  readonly commit?: string
  readonly node: string
  /** Node versions of the measured commands, if known; each with its arms if they differ. `node` is the lab's. */
  readonly appNode?: readonly string[]
  readonly platform: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  /** Cores of the app under test, its dependencies and the lab; null if nothing was pinned. */
  readonly pinning: { readonly server: number; readonly dependency: number; readonly lab: number } | null
  /** Digest of the scenario's script and apps, in a checkout: a result with another digest is measured again. */
  readonly script?: string
  /** CPU that other processes used, in cores: the average, and the highest over about 2 s; null if unknown. */
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
  /** True if the run ended early; the figures measured until then are here. */
  readonly incomplete: boolean
  /** False if the figures are doubtful; `why` gives the reasons in sentences. */
  readonly certified: boolean
  readonly why: readonly string[]
  readonly conditions: ScenarioConditions
  readonly arms: readonly ScenarioArm[]
  readonly published: readonly PublishedFigure[]
  readonly verdicts: readonly Verdict[]
  /** The figures in the scenario's own form. */
  readonly measured: unknown
}
