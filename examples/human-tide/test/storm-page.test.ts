/** The storm's page in a real browser, without the storm: an older state does not undo what a visitor has set. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { pageApp } from '../storm/page-server.ts'
import { CALM, changed } from '../storm/settings.ts'
import { atEachSize, faultsIn, SIZES } from './layout.ts'
import { launchBrowser, skip, until } from './stage.ts'

/** Longer than two updates of the state take, ms. */
const LATE_MS = 1200

let settings = CALM
let figures: object = {}
const server = createServer(
  pageApp({
    tell: () => ({
      ...settings,
      machine: '',
      linesPerS: 0,
      sides: ['left', 'right'].map(name => ({ name, isUp: true, ages: '', ...figures })),
    }),
    set(given) {
      settings = changed(settings, given)
    },
  }),
)
let browser: Browser
before(async () => {
  if (skip) return
  browser = await launchBrowser()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
after(async () => {
  if (skip) return
  await browser.close()
  server.close()
})

async function open(t: TestContext, prepare: (page: Page) => Promise<unknown> = async () => {}): Promise<Page> {
  settings = CALM
  const page = await browser.newPage()
  t.after(() => page.close())
  await prepare(page)
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await until('the page shows the settings', () => page.locator('#left h2', { hasText: 'bare' }).isVisible())
  return page
}

/**
 * Sets the log line and the number of phones, and returns what the page shows until the last older state has arrived.
 */
const setAndRead = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(async () => {
    const box = document.querySelector('#left .log'), slider = document.querySelector('#phones'), seen = new Set()
    box.click()
    slider.value = '2'
    slider.dispatchEvent(new Event('input'))
    for (const until = performance.now() + ${2 * LATE_MS}; performance.now() < until; ) {
      seen.add(box.checked + ' ' + slider.value)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    return [...seen]
  })()`)

test('a state that arrives before the server has the change does not undo it', { skip }, async t => {
  const page = await open(t, page =>
    page.route('**/settings', async route => {
      await sleep(LATE_MS)
      await route.continue()
    }),
  )
  assert.deepEqual(await setAndRead(page), ['true 2'])
  assert.deepEqual(settings, { ...CALM, phones: 25, left: { protect: false, log: true } })
})

test('a state from before the change that arrives after its response does not undo it', { skip }, async t => {
  const page = await open(t, page =>
    page.addInitScript(`{
      const { addEventListener } = EventSource.prototype
      EventSource.prototype.addEventListener = function (type, listener) {
        const later = event => setTimeout(listener, ${LATE_MS}, event)
        addEventListener.call(this, type, type === 'message' ? later : listener)
      }
    }`),
  )
  assert.deepEqual(await setAndRead(page), ['true 2'])
})

test('a change made on another page is shown, and one that the server refuses is reverted', { skip }, async t => {
  const page = await open(t)
  const other = await browser.newPage()
  t.after(() => other.close())
  await other.goto(page.url())
  await other.locator('#left').getByRole('checkbox', { name: 'console.log' }).check()
  const log = page.locator('#left').getByRole('checkbox', { name: 'console.log' })
  await until('the other page has set it', () => log.isChecked())
  await page.route('**/settings', route => route.fulfill({ status: 400 }))
  await log.click()
  await until('the page shows the setting of the server', () => log.isChecked())
})

for (const [state, words] of [
  ['carries', 'carries all'],
  ['sheds', 'full, and in time'],
  ['strains', 'falling behind'],
  ['melts', 'melting'],
] as const) {
  test(`"${words}" and the longest figures can be read at every width, in light and dark mode`, { skip }, async t => {
    const most = { duePerS: 5000, storedPerS: 5000, inTimePerS: 4999, shedPerS: 4999, lostPerS: 4999, p99Ms: 4000 }
    figures = { ...most, state }
    t.after(() => {
      figures = {}
    })
    const page = await open(t)
    settings = changed(settings, { phones: 5000, right: { protect: true, log: true } })
    await until('the page shows the figures', async () => {
      const said = await page.locator('#right .top').textContent()
      return (
        said === `protected, with console.log${words}` && (await page.locator('#phones-now').textContent()) === '5,000'
      )
    })
    await atEachSize(page, SIZES, async (_, where) => assert.deepEqual(await faultsIn(page), [], where))
  })
}
