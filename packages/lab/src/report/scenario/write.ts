/** Writes a scenario's result where people find it: a folder of the run's own. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { folderName, freshDirectory, type Written } from '../write.ts'
import { scenarioHtml } from './html.ts'
import { emptySvg, pictureSvg } from './plot-svg.ts'
import type { ScenarioResult } from './result.ts'

export function writeScenario(result: ScenarioResult, out: string): Written {
  const directory = freshDirectory(path.join(out, folderName(result)))
  const html = path.join(directory, 'report.html')
  writeFileSync(path.join(directory, 'result.json'), `${JSON.stringify(result, null, 2)}\n`)
  writeFileSync(path.join(directory, 'picture.svg'), picture(result))
  writeFileSync(html, scenarioHtml(result, scenarioCss()))
  return { directory, html }
}

function picture(result: ScenarioResult): string {
  const [first] = result.plots
  return first === undefined ? emptySvg(result.finding) : pictureSvg(first, result.arms, result.finding)
}

export function scenarioCss(): string {
  return ['report.css', 'scenario.css']
    .map(name => readFileSync(fileURLToPath(new URL(`../../../assets/${name}`, import.meta.url)), 'utf8'))
    .join('\n')
}
