/** Describes the machine, and calibrates the busy loop of the lab's example apps. */
import { execFile } from 'node:child_process'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pinned } from './core-pinning.ts'

const run = promisify(execFile)

export interface Machine {
  readonly node: string
  readonly platform: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
}

/** Cores available before the lab pins itself to one. */
const CORES = os.availableParallelism()

export function describeMachine(): Machine {
  const cpus = os.cpus()
  return {
    node: process.version,
    platform: `${os.type()} ${os.release()} ${process.arch}`,
    cpu: cpus[0]?.model.trim() ?? 'unknown',
    cores: CORES,
    memoryBytes: os.totalmem(),
  }
}

/** The example apps spin this many iterations per millisecond of work; apps/busy.js explains why the lab sets it. */
export const spinVariable = 'MELTLAB_SPIN_PER_MS'

/** Runs on the server's core, in a process like the apps. A second calibration shows whether the speed has changed. */
export async function calibrateSpin(core: number | undefined): Promise<number> {
  const script = fileURLToPath(new URL('../../apps/calibrate.js', import.meta.url))
  const [program, ...args] = pinned([process.execPath, script], core)
  const { stdout } = await run(program!, args, { env: { ...process.env, NODE_OPTIONS: '' } })
  return Number(stdout)
}
