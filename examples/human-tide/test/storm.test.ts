/**
 * Starts the storm and tests its page in a real browser: both shores, the settings, and that it leaves no process
 * behind.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { freePort } from '../../../packages/lab/src/launch/free-port.ts'
import { Storm } from '../src/storm.ts'
import { atEachSize, faultsIn, SIZES } from './layout.ts'
import { startService } from './service.ts'
import { launchBrowser, PHONE, skip, until } from './stage.ts'

const script = fileURLToPath(new URL('../storm/main.ts', import.meta.url))
let folder: string
let port: number
let storm: ChildProcess
let browser: Browser
const errors: string[] = []

function start(atPort: number): ChildProcess {
  return spawn(process.execPath, [script], {
    env: { ...process.env, PORT: String(atPort), DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

before(async () => {
  if (skip) return
  folder = mkdtempSync(path.join(tmpdir(), 'human-tide-storm-test-'))
  chmodSync(folder, 0o755)
  port = await freePort()
  storm = start(port)
  let said = ''
  storm.stdout!.setEncoding('utf8').on('data', text => {
    said += text
  })
  // The storm uses every core, so PostgreSQL may answer late on a busy machine. durability.test.ts tests outages.
  const isOutage = (line: string): boolean =>
    /^human-tide: the database (does not answer: .*timeout|answers again)$/.test(line)
  storm.stderr!.setEncoding('utf8').on('data', text => {
    errors.push(...text.split('\n').filter((line: string) => line !== '' && !isOutage(line)))
  })
  browser = await launchBrowser()
  await until('the storm has begun', async () => said.includes('Ctrl-C ends everything'), 90_000)
})
after(async () => {
  if (skip) return
  await browser.close()
  if (storm.exitCode === null) storm.kill('SIGINT')
  rmSync(folder, { recursive: true, force: true })
})

/** Opens a page that is closed when the test ends; otherwise its later requests would fail another test. */
async function open(t: TestContext, options: BrowserContextOptions, atPort = port): Promise<Page> {
  const context = await browser.newContext(options)
  t.after(() => context.close())
  const page = await context.newPage()
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error') errors.push(message.text())
  })
  await page.goto(`http://127.0.0.1:${atPort}/`)
  return page
}
const text = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? ''
const figure = async (page: Page, side: string, of: string) =>
  Number((await text(page, `#${side} [data-of="${of}"]`)).replaceAll(/\D/g, ''))

test('both shores store what the same phones send, and one log line per request melts the bare one', {
  skip,
  timeout: 120_000,
}, async t => {
  const page = await open(t, { viewport: { width: 1280, height: 900 } })
  for (const side of ['left', 'right']) {
    await until(`${side} stores`, async () => (await figure(page, side, 'storedPerS')) > 0)
  }
  assert.equal(await text(page, '#left h2'), 'bare, with console.log')
  assert.equal(await text(page, '#right h2'), 'protected, with console.log')
  await until('the page opens with the storm', async () => (await text(page, '#left .state')) === 'melting')
  // On a busy machine the protected service may also melt for a moment.
  await until('the figures of the two shores have different colours', async () => {
    const [left, right] = await page.evaluate<string[]>(
      `['left', 'right'].map(side => getComputedStyle(document.querySelector('#' + side + ' .big dd')).color)`,
    )
    return left !== right
  })
  await atEachSize(page, SIZES, async (_, where) => assert.deepEqual(await faultsIn(page), [], where))
  await page.getByRole('button', { name: '2013: one line of logging' }).click()
  await until('the right side is bare, without the log line', async () => (await text(page, '#right h2')) === 'bare')
  await until('the left side melts', async () => (await text(page, '#left .state')) === 'melting')
  // Switches the log line off again.
  await page.locator('#left').getByRole('checkbox', { name: 'console.log' }).uncheck()
  await until('the change is deployed', async () => (await text(page, '#left h2')) === 'bare')
  await until('the left side stores again', async () => (await figure(page, 'left', 'inTimePerS')) > 20)
  await page.locator('#right').getByRole('checkbox', { name: 'protect' }).check()
  await until('the right side is protected', async () => (await text(page, '#right h2')) === 'protected')
  assert.match((await page.locator('#left .map').getAttribute('aria-label'))!, /^The shore, bare: [\d,]+ of 100 phones/)
})

test('the page works by keyboard on phones and tablets, in light and dark mode', {
  skip,
  timeout: 180_000,
}, async t => {
  const page = await open(t, { ...PHONE, reducedMotion: 'reduce' })
  await until(
    'the page shows its figures',
    async () => (await text(page, '#phones-now')) !== '' && (await text(page, '#left h2')) !== '',
  )
  await atEachSize(page, SIZES, async ({ width }, where) => {
    assert.deepEqual(await faultsIn(page), [], where)
    const small = await page.evaluate<string[]>(
      `[...document.querySelectorAll('button, input[type=range], label:has(input)')].filter(each => each.getBoundingClientRect().height < 44).map(each => each.outerHTML)`,
    )
    assert.deepEqual(small, [], `a finger needs 44 px: ${where}`)
    const figures = width <= 480 ? 2 : 5
    assert.equal(await page.locator('#left dd:visible').count(), figures, `the number of visible figures: ${where}`)
    assert.match(
      (await page.locator('#left .key:visible').textContent())!,
      /due .*stored in time/,
      'the legend explains the lines',
    )
    const nameless = await page.locator('canvas:not([aria-label])').count()
    assert.equal(nameless, 0)
    const slider = page.getByRole('slider', { name: 'Phones' })
    await slider.focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    assert.equal(await slider.getAttribute('aria-valuetext'), '10 phones')
    await until('the load follows', async () => (await figure(page, 'left', 'storedPerS')) <= 15)
  })
})

test('settings from another site are refused, and a port in use is reported', { skip, timeout: 60_000 }, async () => {
  const post = (headers: Record<string, string>, body: string) =>
    fetch(`http://127.0.0.1:${port}/settings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  assert.equal((await post({ 'sec-fetch-site': 'cross-site' }, '{}')).status, 403)
  const refused = await post({}, '{"phones":1e9}')
  assert.equal(refused.status, 400)
  assert.match(((await refused.json()) as { title: string }).title, /phones must be a whole number from 0 to 5000/)

  const taken = createServer()
  await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
  const second = start((taken.address() as { port: number }).port)
  let said = ''
  second.stderr!.on('data', data => {
    said += data
  })
  const [code] = await once(second, 'exit')
  taken.close()
  assert.equal(code, 1)
  assert.match(said, /^The storm can not listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\n$/)
})

test('Ctrl-C ends all processes', { skip, timeout: 60_000 }, async () => {
  const postmaster = Number(readFileSync(path.join(folder, 'storm/cluster/postmaster.pid'), 'utf8').split('\n')[0])
  const started = childrenOf(storm.pid!)
  assert.equal(started.length, 5, 'two services, their phones, and the process that runs PostgreSQL')
  storm.kill('SIGINT')
  const [code] = await once(storm, 'exit')
  assert.equal(code, 0)
  // The process that runs PostgreSQL ends after the storm.
  for (const pid of [...started, postmaster]) await until(`${pid} is gone`, async () => !existsSync(`/proc/${pid}`))
  assert.deepEqual(errors, [])
})

test('on a desktop the first screen shows the running storm, on a phone the form', {
  skip,
  timeout: 120_000,
}, async t => {
  const servicePort = await freePort()
  const service = await startService(servicePort, { DATA_DIR: folder, STORM_PORT: '0' })
  t.after(() => service.end())
  // A phone or a tablet has no mouse, however wide it is; a narrow window has no room for the storm.
  for (const [options, sizes] of [
    [PHONE, SIZES],
    [{}, SIZES.filter(({ width }) => width < 768)],
  ] as const) {
    const form = await open(t, { ...options, viewport: sizes[0]! }, servicePort)
    await until('the form shows the retention time', async () => (await text(form, '#keep')) === '30 days')
    await atEachSize(form, sizes, async ({ height }, where) => {
      assert.deepEqual(await faultsIn(form), [], where)
      const button = (await form.locator('#start').boundingBox())!
      assert.ok(button.y + button.height <= height, `the button is on the first screen: ${where}`)
    })
    assert.equal(await form.locator('#storm').getAttribute('src'), null, 'the form loads no storm')
    await form.context().close()
  }

  const desk = await open(t, { viewport: { width: 1280, height: 800 } }, servicePort)
  const shore = desk.frameLocator('#storm')
  await until(
    'the left side melts',
    async () => (await shore.locator('#left .state').textContent()) === 'melting',
    90_000,
  )
  const framed = desk.frames().find(frame => frame !== desk.mainFrame())!
  const atDesk = SIZES.filter(({ width }) => width >= 768)
  await atEachSize(desk, atDesk, async ({ height }, where) => {
    assert.deepEqual([...(await faultsIn(desk)), ...(await faultsIn(framed))], [], where)
    const melts = (await shore.locator('#left .big').boundingBox())!
    assert.ok(melts.y + melts.height <= height, `the melting side is on the first screen: ${where}`)
    const [storm, join] = await Promise.all(['#storm', '.desk h2'].map(each => desk.locator(each).boundingBox()))
    assert.ok(storm!.y + storm!.height <= join!.y, `the storm is above the invitation: ${where}`)
    assert.ok(
      await shore.locator('html').evaluate(html => html.scrollHeight <= html.clientHeight),
      `nothing scrolls within the storm: ${where}`,
    )
  })
  const elsewhere = { headers: { 'sec-fetch-site': 'cross-site' } }
  assert.equal((await fetch(`${service.origin}/storm/`, elsewhere)).status, 403)
  await desk.context().close()
  const started = childrenOf(service.child.pid!)
  await service.end()
  for (const pid of started) await until(`${pid} is gone`, async () => !existsSync(`/proc/${pid}`))
  assert.deepEqual(errors, [])
})

test('a storm started by a page ends when it is no longer read, and can start again', { skip }, async t => {
  process.env['DATA_DIR'] = folder
  const storm = new Storm(0, 50)
  t.after(() => storm.end())
  const first = await storm.hold()
  assert.equal((await fetch(`http://127.0.0.1:${first}/`)).status, 200)
  storm.release()
  const answers = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${first}/`).then(
      () => true,
      () => false,
    )
  // The storm's process lives a little longer than its page. A request in between must not be sent to this process.
  while (await answers());
  assert.equal((await fetch(`http://127.0.0.1:${await storm.hold()}/`)).status, 200)
})

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}
