/** meltlab as a library: the load engine, the result of a scenario, and the functions that show such a result. */
export { Histogram, type HistogramData } from './load/histogram.ts'
export type {
  Arrival,
  Connections,
  FailureCode,
  LoadOptions,
  LoadOutcome,
  LoadPlan,
  LoadProgress,
  LoadSecond,
  Phase,
  Schedule,
  Spacing,
} from './load/plan.ts'
export { runLoad } from './load/run.ts'
export { scenarioHtml } from './report/html.ts'
export type {
  LinesPlot,
  BarsPlot,
  PanelsPlot,
  Plot,
  ScenarioArm,
  ScenarioResult,
  Table,
  Verdict,
  View,
} from './report/result.ts'
export type { AttackDocument } from './results/attack-document.ts'
export { scenarioText } from './report/text.ts'
export { pictureOf } from './report/write.ts'
