/** Writes a result where people find it: result.json, report.html and curve.svg in a folder of the run's own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { htmlReport, type ReportAssets } from './html.ts'
import type { MeltResult } from './result.ts'
import { curveSvg } from './svg.ts'

export interface Written {
  readonly directory: string
  readonly html: string
}

export function writeReport(result: MeltResult, out: string): Written {
  const directory = freshDirectory(path.join(out, folderName(result)))
  const html = path.join(directory, 'report.html')
  writeFileSync(path.join(directory, 'result.json'), `${JSON.stringify(result, null, 2)}\n`)
  writeFileSync(path.join(directory, 'curve.svg'), curveSvg(result))
  writeFileSync(html, htmlReport(result, loadAssets()))
  return { directory, html }
}

/** Pure: sorts by time, and holds no character that a shell or Windows minds. */
export function folderName(result: Pick<MeltResult, 'startedAt' | 'name'>): string {
  const time = result.startedAt.slice(0, 19).replaceAll(':', '-')
  return `${time}-${result.name}`
}

/** Two runs within a second get two folders. */
export function freshDirectory(wanted: string): string {
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

export function loadAssets(): ReportAssets {
  const require = createRequire(import.meta.url)
  const own = (name: string): string =>
    readFileSync(fileURLToPath(new URL(`../../assets/${name}`, import.meta.url)), 'utf8')
  return {
    uplotJs: readFileSync(require.resolve('uplot/dist/uPlot.iife.min.js'), 'utf8'),
    uplotCss: readFileSync(require.resolve('uplot/dist/uPlot.min.css'), 'utf8'),
    pageJs: own('report.js'),
    pageCss: own('report.css'),
  }
}
