/** Writes a scenario's result where people find it: a folder of the run's own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { scenarioHtml } from './html.ts'
import { emptySvg, pictureSvg } from './plot-svg.ts'
import type { ScenarioResult } from './result.ts'

/** Returns the path of the page. */
export function writeScenario(result: ScenarioResult, out: string): string {
  const directory = freshDirectory(path.join(out, folderName(result)))
  const html = path.join(directory, 'report.html')
  writeFileSync(path.join(directory, 'result.json'), `${JSON.stringify(result, null, 2)}\n`)
  writeFileSync(path.join(directory, 'picture.svg'), pictureOf(result))
  writeFileSync(html, scenarioHtml(result, scenarioCss()))
  return html
}

/** The first plot, with the finding above it. */
export function pictureOf({
  plots: [first],
  arms,
  finding,
}: Pick<ScenarioResult, 'plots' | 'arms' | 'finding'>): string {
  return first === undefined ? emptySvg(finding) : pictureSvg(first, arms, finding)
}

/** Pure: sorts by time, and holds no character that a shell or Windows minds. */
export function folderName(result: Pick<ScenarioResult, 'startedAt' | 'name'>): string {
  return `${result.startedAt.slice(0, 19).replaceAll(':', '-')}-${result.name}`
}

/** Two runs within a second get two folders. */
function freshDirectory(wanted: string): string {
  mkdirSync(path.dirname(wanted), { recursive: true })
  for (let n = 1; ; n++) {
    const directory = n === 1 ? wanted : `${wanted}-${n}`
    try {
      mkdirSync(directory)
      return directory
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

export function scenarioCss(): string {
  return readFileSync(fileURLToPath(new URL('../../assets/report.css', import.meta.url)), 'utf8')
}
