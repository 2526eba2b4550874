/** Writes a scenario's result to a separate folder for each run. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { scenarioHtml } from './html.ts'
import { emptySvg, pictureSvg } from './plot-svg.ts'
import type { ScenarioResult } from './result.ts'

/** Writes a whole file; tests replace it to simulate a full disk. */
export type WriteFile = (file: string, text: string) => void

/** Writes the measurements first; no file is ever partial. Returns the path of the page. */
export function writeInto(result: ScenarioResult, folder: string, write: WriteFile = writeFileSync): string {
  const html = path.join(folder, 'report.html')
  wholeFile(path.join(folder, 'result.json'), `${JSON.stringify(result, null, 2)}\n`, write)
  wholeFile(path.join(folder, 'picture.svg'), pictureOf(result), write)
  wholeFile(html, scenarioHtml(result, scenarioCss()), write)
  return html
}

/** Removes a partial file if the disk is full. */
function wholeFile(file: string, text: string, write: WriteFile): void {
  try {
    write(file, text)
  } catch (error) {
    rmSync(file, { force: true })
    throw error
  }
}

export function pictureOf(result: Pick<ScenarioResult, 'plots' | 'arms' | 'finding'>): string {
  const [first] = result.plots
  return first === undefined ? emptySvg(result.finding) : pictureSvg(first, result.arms, result.finding)
}

/** A name that sorts by time, without characters that are special in shells or on Windows. Pure. */
export function folderName(result: Pick<ScenarioResult, 'startedAt' | 'name'>): string {
  return `${result.startedAt.slice(0, 19).replaceAll(':', '-')}-${result.name}`
}

/** Two runs within one second get different folders. */
export function freshFolder(result: Pick<ScenarioResult, 'startedAt' | 'name'>, out: string): string {
  const wanted = path.join(out, folderName(result))
  mkdirSync(out, { recursive: true })
  for (let n = 1; ; n++) {
    const folder = n === 1 ? wanted : `${wanted}-${n}`
    try {
      mkdirSync(folder)
      return folder
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

export function scenarioCss(): string {
  return ['page', 'report']
    .map(name => readFileSync(new URL(`../../assets/${name}.css`, import.meta.url), 'utf8'))
    .join('')
}
