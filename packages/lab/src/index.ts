/**
 * meltlab as a library: the load engine, and the result of a melt run with the pure functions that draw it. Starting
 * processes is the command's business.
 */
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
export { finding } from './report/finding.ts'
export { htmlReport, type ReportAssets } from './report/html.ts'
export type {
  ArmResult,
  Capacity,
  Conditions,
  Fates,
  Latency,
  MeltResult,
  Row,
  SecondResult,
  StepResult,
  Window,
} from './report/result.ts'
export { curveSvg } from './report/svg.ts'
export { tableOf, terminalSummary } from './report/table.ts'
