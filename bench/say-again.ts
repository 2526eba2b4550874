/** Says anew what the committed experiments found, with the words of today, of what was measured then. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { saidOf } from '../packages/lab/src/experiment/run-scenario.ts'
import type { ScenarioResult } from '../packages/lab/src/report/result.ts'
import { catalogue } from '../packages/lab/src/scenarios/catalogue.ts'

const FOLDER = path.join(import.meta.dirname, 'results/experiments')

for (const name of readdirSync(FOLDER).filter(file => file.endsWith('.json'))) {
  const file = path.join(FOLDER, name)
  const { measured, ...result } = JSON.parse(readFileSync(file, 'utf8')) as ScenarioResult
  const scenario = catalogue.find(each => each.name === result.name)
  if (scenario === undefined || measured === undefined) continue
  const said = saidOf(scenario, measured, result)
  writeFileSync(file, `${JSON.stringify({ ...result, ...said, measured }, null, 1)}\n`)
}
