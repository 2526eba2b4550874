/** The arms of the scoreboard: the app alone, each rival, HAProxy with two kinds of `maxconn`, and meltproof. */
import { appFile } from '../../experiment/app-file.ts'
import type { Arm } from '../../melt/arms.ts'
import { needHaproxy, startHaproxy } from '../fleet-haproxy.ts'
import type { Ports } from '../fleet-instance.ts'
import { ARMS, type ArmName } from './workloads.ts'

/** Options of HAProxy's server line. `maxconn 10` is the same careful guess as in door.ts. */
const SERVER_LINES: Partial<Record<ArmName, string>> = { 'haproxy-guessed': 'maxconn 10', 'haproxy-agent': 'asks' }

/** The arms that can run on this machine: those behind HAProxy need it installed. */
export function armsHere(): readonly ArmName[] {
  try {
    needHaproxy()
    return ARMS
  } catch {
    return ARMS.filter(arm => SERVER_LINES[arm] === undefined)
  }
}

/** @param ports returns the ports of meltproof's admin server and agent; called when the app has started */
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
