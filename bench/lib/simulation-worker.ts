/** A thread that runs the simulations it receives, one at a time (simulations.ts). */
import { parentPort } from 'node:worker_threads'
import { ALL_SETS, measure } from './measured-run.ts'
import type { Simulation } from './simulations.ts'

parentPort!.on('message', ({ set, scenario, arm, seed }: Simulation) => {
  parentPort!.postMessage(measure(ALL_SETS[set][scenario]!, arm, seed))
})
