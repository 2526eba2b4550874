/** Runs simulations on several threads, the longest first. */
import { Worker } from 'node:worker_threads'
import type { Scenario } from '../../packages/meltproof/sim/scenarios.ts'
import { ALL_SETS, type SetName } from './measured-run.ts'
import type { Measured } from './yardsticks.ts'

export interface Simulation {
  readonly set: SetName
  /** Its index in the set. */
  readonly scenario: number
  readonly arm: string
  readonly seed: number
}

/** Returns the results in the order of `simulations`. */
export async function runSimulations(simulations: readonly Simulation[], threads: number): Promise<Measured[]> {
  const results: Measured[] = new Array(simulations.length)
  const order = simulations
    .map((simulation, index) => ({ simulation, index, work: workOf(ALL_SETS[simulation.set][simulation.scenario]!) }))
    .sort((a, b) => b.work - a.work)
  let next = 0
  const oneThread = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL('simulation-worker.ts', import.meta.url))
      let running: (typeof order)[number] | undefined
      const more = (): void => {
        running = order[next++]
        if (running === undefined) void worker.terminate().then(() => resolve())
        else worker.postMessage(running.simulation)
      }
      worker.on('message', (measured: Measured) => {
        results[running!.index] = measured
        more()
      })
      worker.on('error', reject)
      more()
    })
  await Promise.all(Array.from({ length: Math.min(threads, simulations.length) }, oneThread))
  return results
}

/** The approximate number of requests, from the rate in the middle of each second and from the cohorts. */
function workOf({ workload, seconds }: Scenario): number {
  let requests = 0
  for (let s = 0; s < seconds; s++) requests += workload.rate(s * 1000 + 500)
  for (const { clients, requests: each } of workload.cohorts ?? []) requests += clients * each
  return requests * (1 + (workload.retries ?? 0))
}
