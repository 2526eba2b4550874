/**
 * Makes the pictures of the README: `npm run pictures -w human-tide -- http://127.0.0.1:3000 http://127.0.0.1:3100`.
 * The service (first address) must have walkers, and the storm (second address) must run. Writes PNGs to docs/images.
 */
import { fileURLToPath } from 'node:url'
import sparticuz from '@sparticuz/chromium'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const [origin = 'http://127.0.0.1:3000', storm = 'http://127.0.0.1:3100'] = process.argv.slice(2)
const folder = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 760 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
  permissions: ['geolocation'],
  geolocation: { latitude: 53.9965, longitude: 8.001, accuracy: 6 },
}
const desktop: BrowserContextOptions = { viewport: { width: 1600, height: 900 } }

const browser = await chromium.launch({
  executablePath: await sparticuz.executablePath(),
  args: ['--no-sandbox', '--disable-gpu'],
  headless: true,
})
await picture('human-tide-shore', desktop, '/shore', page => page.waitForTimeout(60_000))
await picture('human-tide-shore-phone', phone, '/shore', page => page.waitForTimeout(8000))
await picture('human-tide-walk', phone, '/', walk)
await picture('human-tide-no-signal', { ...phone, colorScheme: 'dark' }, '/', async page => {
  await walk(page)
  await page.context().setOffline(true)
  await page.waitForTimeout(7000)
})
const slide: BrowserContextOptions = { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }
await picture('human-tide-storm', slide, storm, async page => {
  await page.getByRole('button', { name: 'The line, protected' }).click()
  await page.waitForTimeout(45_000)
})
await browser.close()

async function walk(page: Page): Promise<void> {
  await page.fill('#name', 'Marie')
  await page.check('#consent')
  await page.click('#start')
  await page.waitForTimeout(5500)
}

async function picture(
  name: string,
  options: BrowserContextOptions,
  url: string,
  act: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  await page.goto(new URL(url, origin).href)
  await act(page)
  await page.screenshot({ path: `${folder}${name}.png` })
  await context.close()
}
