/** Writes the findings of committed results of the lab again, from their measurements and with the current wording. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Wording, wordingOf } from '../../packages/lab/src/experiment/run-scenario.ts'
import type { Scenario } from '../../packages/lab/src/experiment/scenario.ts'
import type { ScenarioResult } from '../../packages/lab/src/report/result.ts'
import { overload } from '../../packages/lab/src/scenarios/overload/overload.ts'
import { MODES, WORKLOADS } from '../../packages/lab/src/scenarios/overload/workloads.ts'
import { writeWhole } from '../../packages/lab/src/write-whole.ts'

/**
 * @param scenarioOf returns undefined to leave a result unchanged
 * @param kept the parts of a result that keep their original wording
 */
export function rewriteFindings(
  folder: string,
  scenarioOf: (result: ScenarioResult) => Scenario<unknown> | undefined,
  kept: (result: ScenarioResult) => Partial<Wording> = () => ({}),
): void {
  for (const name of readdirSync(folder).filter(file => file.endsWith('.json'))) {
    const file = path.join(folder, name)
    const whole = JSON.parse(readFileSync(file, 'utf8')) as ScenarioResult
    const { measured, ...result } = whole
    const scenario = scenarioOf(whole)
    if (scenario === undefined || measured === undefined) continue
    const wording = { ...wordingOf(scenario, measured, result), ...kept(whole) }
    writeWhole(file, `${JSON.stringify({ ...result, ...wording, measured }, null, 1)}\n`)
  }
}

/** The workload of a result of the scoreboard, with the arms that the result has: older results have fewer. */
export function workloadOf({ name, arms }: ScenarioResult): Scenario<unknown> | undefined {
  return Object.keys(WORKLOADS)
    .flatMap(workload => MODES.map(mode => overload({ workload, mode, arms: arms.map(each => each.name) })))
    .find(each => each.name === name)
}
