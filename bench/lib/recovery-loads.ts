/**
 * Makes the load of bench/recovery.ts: meltlab's engine over HTTP/1.1, otherwise a program in the folder of the app.
 */
import { targetOf } from '../../apps/load/http.ts'
import type { AppDefinition, Arm, Ask, LoadProgram } from '../../apps/runner/definition.ts'
import { installedFolder } from '../../apps/runner/install.ts'
import { type Cores, offer, runLoad } from '../../apps/runner/lab.ts'
import type { Running } from '../../apps/runner/start.ts'
import { printed } from '../../apps/streams/program.ts'
import { watchSpeed } from '../../packages/lab/src/launch/core-speed.ts'
import { warmUpCode } from '../../packages/lab/src/melt/capacity.ts'
import type { Recovery, RecoveryShape, SecondResult } from '../../packages/lab/src/melt/measured.ts'
import { presets } from '../../packages/lab/src/melt/options.ts'
import { recoveryFrom, recoveryOf, recoveryPlan, SAFE_LOAD } from '../../packages/lab/src/melt/recovery.ts'
import { underLoad } from '../../packages/lab/src/melt/step.ts'
import { secondOf } from '../../packages/lab/src/melt/summary.ts'
import type { SteadyLoad } from './steady-load.ts'

const SLO_MS = 1000
/** A program that sends 1 % of its calls later than this makes an app look late. */
const MOST_SEND_LAG_MS = 100

export interface RecoveryLoad extends SteadyLoad {
  recover(capacity: number): Promise<Recovery>
}

export function recoveryLoad(
  { dearest }: AppDefinition,
  running: Running,
  { shape, pinning, signal }: { shape: RecoveryShape; pinning: Cores; signal: AbortSignal },
): RecoveryLoad {
  const arm = namedAs(running.arm)
  return 'program' in dearest ? overProgram(dearest) : overHttp(dearest)

  function overHttp(ask: Ask): RecoveryLoad {
    const target = targetOf(running.origin, ask)
    const run: typeof runLoad = plan => runLoad(plan, { signal })
    return {
      sloMs: target.sloMs,
      warm: () => warmUpCode({ target, times: presets.full.capacityTimes, run, onProbe: () => {} }),
      async steady(rate, durationS) {
        const { seconds } = await run(offer({ ...target, spacing: 'even' }, rate, 1000 * durationS))
        return seconds.map(second => secondOf(second, target.sloMs))
      },
      async recover(capacity) {
        const seen = await underLoad(running.app, { core: pinning.server, speed: watchSpeed(undefined) }, () =>
          run(recoveryPlan(target, capacity, shape)),
        )
        // The caller measures the CPU of other processes, without the kernel work for the sockets of a proxy.
        return recoveryOf(arm, shape, { ...seen, foreign: null }, { sloMs: target.sloMs, capacity: {} })
      },
    }
  }

  function overProgram({ program }: LoadProgram): RecoveryLoad {
    const run = (...args: string[]): Promise<string> =>
      printed([...program, ...args], { ORIGIN: running.origin }, installedFolder(running.name), signal)
    const phases = async (all: readonly (readonly [rate: number, seconds: number])[], retries: number) =>
      JSON.parse(await run('phases', JSON.stringify({ phases: all, retries }))) as {
        readonly sendLagP99Ms: number
        readonly seconds: readonly SecondResult[]
      }
    return {
      sloMs: SLO_MS,
      warm: () => run('busy', '8', '6000'),
      steady: async (rate, durationS) => (await phases([[rate, durationS]], 0)).seconds,
      async recover(capacity) {
        const { beforeS, spike, spikeS, afterS, retries } = shape
        const low = SAFE_LOAD * capacity
        const { seconds, sendLagP99Ms } = await phases(
          [
            [low, beforeS],
            [spike * capacity, spikeS],
            [low, afterS],
          ],
          retries,
        )
        return recoveryFrom(arm, shape, {
          seconds,
          died: running.app.ended() !== undefined,
          isDisturbed: false,
          isCoreSlow: false,
          isGeneratorLate: isBack => !isBack && sendLagP99Ms > MOST_SEND_LAG_MS,
        })
      },
    }
  }
}

const namedAs = (arm: Arm): string => (arm === 'bare' ? 'bare' : 'protected')
