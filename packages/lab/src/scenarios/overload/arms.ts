/** The arms of the scoreboard: the app alone, each rival, HAProxy in front with two kinds of `maxconn`, and meltproof. */
import { appFile } from '../../experiment/app-file.ts'
import type { Arm } from '../../melt/arms.ts'
import { UserError } from '../../user-error.ts'
import { needHaproxy, startHaproxy } from '../fleet-haproxy.ts'
import type { Ports } from '../fleet-instance.ts'
import { ARMS, type ArmName } from './workloads.ts'

/** What stands on the server line of HAProxy. The guess is that of `door`: two for the core, and some to keep it busy. */
const SERVER_LINES: Partial<Record<ArmName, string>> = { 'haproxy-guessed': 'maxconn 10', 'haproxy-agent': 'asks' }

/** All that can run here: without HAProxy on this machine, those behind it can not. */
export function armsHere(): readonly ArmName[] {
  return ARMS.filter(arm => SERVER_LINES[arm] === undefined || hasHaproxy())
}

function hasHaproxy(): boolean {
  try {
    needHaproxy()
    return true
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}

/** @param ports of meltproof's admin server and agent; asked for when the app has started */
export function armOf(workload: string, arm: ArmName, ports: () => Ports): Arm {
  const line = SERVER_LINES[arm]
  const asks = line === 'asks'
  return {
    name: arm,
    kind: arm === 'bare' ? 'bare' : arm === 'meltproof' ? 'protected' : 'also',
    command: ['node', '--no-warnings', appFile('overload/app.js'), workload, arm],
    nodeOptions: undefined,
    env: { NODE_ENV: 'production', ...(asks && workload === 'forged' ? { MELTPROOF_DEADLINE: '3s' } : {}) },
    ...(line === undefined
      ? {}
      : {
          front: async (context, app) => {
            const service = Number(new URL(app.origin).port)
            const haproxy = await startHaproxy(context, [{ ports: { ...ports(), service }, isGuarded: asks }], { line })
            return { origin: haproxy.origin, stop: () => haproxy.app.stop() }
          },
        }),
  }
}
