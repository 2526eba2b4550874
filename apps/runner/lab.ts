/** The parts of meltlab that the runner uses: load engine, capacity search, and control of processes. */
export { nearestName } from '../../packages/lab/src/nearest-name.ts'
export { type App, launch } from '../../packages/lab/src/launch/command.ts'
export {
  allowedCores,
  coresOf,
  type Cores,
  pinned,
  pinSelf,
  unpinSelf,
} from '../../packages/lab/src/launch/core-pinning.ts'
export { freePort } from '../../packages/lab/src/launch/free-port.ts'
export { describeMachine, type Machine } from '../../packages/lab/src/launch/machine.ts'
export { joinNodeOptions } from '../../packages/lab/src/launch/node-options.ts'
export { registerUrl } from '../../packages/lab/src/launch/register-url.ts'
export { accepts } from '../../packages/lab/src/load/target.ts'
export type { LoadOutcome, LoadPlan } from '../../packages/lab/src/load/plan.ts'
export { runLoad } from '../../packages/lab/src/load/run.ts'
export { searchCapacity } from '../../packages/lab/src/melt/capacity.ts'
export { offer, probe, type Target } from '../../packages/lab/src/melt/load-plans.ts'
export { type Progress, progressOn } from '../../packages/lab/src/progress.ts'
export { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
