/** Opens the report in a real browser. Its pages stay open, because closing one ends its single process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { meltView } from '../../src/melt/view.ts'
import { scenarioHtml } from '../../src/report/html.ts'
import { scenarioCss } from '../../src/report/write.ts'
import { arms, madeMeasured } from '../melt/fixture.ts'
import { madeResult } from './made-result.ts'

// The packaged Chromium is for Linux on x64 and arm64.
const skip = process.platform !== 'linux'
const folder = mkdtempSync(path.join(os.tmpdir(), 'meltlab-page-'))
let browser: Browser | undefined

before(async () => {
  if (skip) return
  browser = await chromium.launch({
    executablePath: await sparticuz.executablePath(),
    args: sparticuz.args,
    headless: true,
  })
})
after(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The page does not scroll sideways. A string for the browser: the tests are compiled without the types of the DOM. */
const fits = 'document.documentElement.scrollWidth <= innerWidth'

const DESK = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }

async function open(measured: ReturnType<typeof madeMeasured>, colorScheme: 'light' | 'dark', viewport = DESK) {
  const file = path.join(folder, `${colorScheme}.html`)
  writeFileSync(file, scenarioHtml(madeResult({ arms, ...meltView(measured, arms) }), scenarioCss()))
  const page = await browser!.newPage({ viewport, colorScheme })
  const complaints: string[] = []
  page.on('console', message => complaints.push(message.text()))
  page.on('pageerror', error => complaints.push(error.message))
  page.on('request', request => {
    if (!/^(file|data):/.test(request.url())) complaints.push(`asked for ${request.url()}`)
  })
  await page.goto(pathToFileURL(file).href)
  return { page, complaints }
}

for (const scheme of ['light', 'dark'] as const) {
  test(`the page draws every plot in the ${scheme} colour scheme, without errors or network requests`, {
    skip,
  }, async () => {
    const { page, complaints } = await open(madeMeasured(), scheme)
    // Three plots are drawn twice, for a wide page and for a phone. Each of five loads has four plots, drawn once.
    assert.equal(await page.locator('svg.drawn').count(), 2 * 3 + 5 * 4)
    assert.equal(await page.locator('svg.drawn:visible').count(), 3)
    await page.getByText('At 2x, second by second').click()
    assert.equal(await page.locator('svg.drawn:visible').count(), 7)
    await page.waitForFunction(fits, undefined, { timeout: 5000 })
    assert.deepEqual(complaints, [])
  })
}

for (const [where, viewport] of [
  ['a desktop', DESK],
  ['a phone', PHONE],
] as const) {
  test(`verdicts, figures and the leading plot are visible without scrolling on ${where}`, { skip }, async () => {
    const { page, complaints } = await open(madeMeasured(), 'light', viewport)
    assert.equal(await page.locator('.strip li').count(), 3)
    for (const what of ['.strip .says', '.strip .figure b', '.lead svg.drawn']) {
      for (const each of await page.locator(what).all()) {
        const box = await each.boundingBox()
        if (box === null) continue // the drawing for the other width
        assert.ok(box.y >= 0 && box.y + box.height <= viewport.height, `${what} ends at ${box.y + box.height}`)
        assert.ok(box.x >= 0 && box.x + box.width <= viewport.width, `${what} is cut`)
      }
    }
    assert.equal(await page.locator('.lead svg.drawn:visible').count(), 1)
    await page.waitForFunction(fits, undefined, { timeout: 5000 })
    // A table of thirteen columns does not scroll either: on a phone, each row is a card.
    const tables = '[...document.querySelectorAll(".scroll")].every(each => each.scrollWidth <= each.clientWidth)'
    if (viewport === PHONE) await page.waitForFunction(tables, undefined, { timeout: 5000 })
    await page.locator('.badge').first().waitFor()
    assert.deepEqual(complaints, [])
  })
}

test('the page of a run at one load fits a narrow screen', { skip }, async () => {
  const made = madeMeasured()
  const one = {
    rows: made.rows.filter(row => row.multiple === 2),
    steps: made.steps.filter(step => step.multiple === 2),
  }
  const { page, complaints } = await open({ ...made, ...one }, 'light')
  await page.setViewportSize({ width: 420, height: 800 })
  await page.waitForFunction(fits, undefined, { timeout: 5000 })
  assert.deepEqual(complaints, [])
})
