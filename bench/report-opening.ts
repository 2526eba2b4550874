/**
 * Measures the size of the report of a run of 1,000,000 requests, and the time in which a browser opens it: from the
 * start of the navigation until it is laid out and painted, in a headless Chromium, median of nine.
 *
 *   node bench/report-opening.ts        writes bench/results/report-opening.json
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import sparticuz from '@sparticuz/chromium'
import { chromium } from 'playwright-core'
import { median } from '../packages/lab/src/melt/summary.ts'
import { scenarioHtml } from '../packages/lab/src/report/html.ts'
import { scenarioCss } from '../packages/lab/src/report/write.ts'
import { millionRequests, SHAPES } from '../packages/lab/test/report/million.ts'

const ROUNDS = 9
const PLACES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }
const OUT = join(import.meta.dirname, 'results/report-opening.json')

/** Runs in the page: resolves after the first frame that follows the layout. */
const PAINTED = 'new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))'

const folder = mkdtempSync(join(tmpdir(), 'report-opening-'))
const file = join(folder, 'report.html')
writeFileSync(file, scenarioHtml(millionRequests(SHAPES['seven loads, a minute each']), scenarioCss()))
const browser = await chromium.launch({ executablePath: await sparticuz.executablePath(), args: sparticuz.args })
const opened: Record<string, number> = {}
for (const [place, viewport] of Object.entries(PLACES)) {
  const page = await browser.newPage({ viewport })
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await page.goto('about:blank')
    await page.goto(pathToFileURL(file).href)
    times.push(await page.evaluate<number>(PAINTED))
  }
  opened[place] = Math.round(median(times)!)
}
const found = { requests: 1_000_000, bytes: statSync(file).size, openedMs: opened }
console.log(JSON.stringify(found))
writeFileSync(OUT, `${JSON.stringify(found, null, 2)}\n`)
rmSync(folder, { recursive: true, force: true })
// Exits without closing the pages, because that would end the single process in which the packaged Chromium runs.
process.exit()
