/** `meltlab live` as a user starts it, with its page in a real browser, and what it leaves behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import type net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import sparticuz from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { allowedCores, coresOf, pinned } from '../../src/launch/core-pinning.ts'
import type { LiveMeasured } from '../../src/live/measured.ts'
import { PageServer } from '../../src/live/page-server.ts'
import type { LiveUpdate } from '../../src/live/session.ts'
import type { ScenarioResult } from '../../src/report/result.ts'
import { type CliEnd, carrying, type Kill, runCli } from '../run-cli.ts'

// The packaged Chromium is for Linux on x64 and arm64.
const skip = process.platform !== 'linux'
const app = (name: string): string => fileURLToPath(new URL(`../melt/apps/${name}.mjs`, import.meta.url))
/** Serves 200 requests per second with little CPU, so ten times 50 melts it on any machine. */
const POOL = ['--capacity', '50', '--', 'node', app('pool')]

interface Ended extends CliEnd {
  readonly result: (ScenarioResult & { readonly measured: LiveMeasured }) | undefined
  readonly files: readonly string[]
  readonly strays: readonly string[]
}

interface Started {
  /** Undefined if the command ends without printing an address. */
  readonly address: Promise<string | undefined>
  readonly ended: Promise<Ended>
  readonly kill: Promise<Kill>
}

function start(args: readonly string[], onStderr?: (text: string, kill: Kill) => void): Started {
  const out = mkdtempSync(path.join(os.tmpdir(), 'meltlab-live-'))
  const mark = path.basename(out)
  const address = Promise.withResolvers<string | undefined>()
  const killing = Promise.withResolvers<Kill>()
  const run = runCli(['live', '--out', out, ...args], {
    mark,
    onStart: (kill, stdin) => {
      stdin.end()
      killing.resolve(kill)
    },
    onStderr(text, kill) {
      const found = /^watch it on (http:\S+)$/m.exec(text)
      if (found !== null) address.resolve(found[1])
      onStderr?.(text, kill)
    },
  })
  const ended = run.then(async end => {
    address.resolve(undefined)
    const [folder = ''] = readdirSync(out)
    const file = path.join(out, folder, 'result.json')
    const made: Ended = {
      ...end,
      result: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined,
      files: folder === '' ? [] : readdirSync(path.join(out, folder)).sort(),
      strays: await carrying(mark),
    }
    rmSync(out, { recursive: true, force: true })
    return made
  })
  return { address: address.promise, ended, kill: killing.promise }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const from = Date.now(); !(await isSo()); await sleep(50)) {
    assert.ok(Date.now() - from < 60_000, `not within a minute: ${what}`)
  }
}

/** Opens the stream of events like a new page, and returns the first message with figures. */
async function toldAt(address: string): Promise<LiveUpdate & { readonly unjudged?: string }> {
  const reader = (await fetch(new URL('/events', address))).body!.getReader()
  for (let told = ''; ; ) {
    told += Buffer.from((await reader.read()).value!).toString()
    const [, data] = /^event: told\ndata: (.*)\n/m.exec(told) ?? []
    if (data === undefined) continue
    await reader.cancel()
    return JSON.parse(data)
  }
}

describe('the page of meltlab live', { skip }, () => {
  let browser: Browser
  let address: string
  let live: Started
  const complaints: string[] = []

  before(async () => {
    live = start(POOL)
    browser = await chromium.launch({
      executablePath: await sparticuz.executablePath(),
      args: ['--no-sandbox', '--disable-gpu'],
      headless: true,
    })
    address = (await live.address)!
  })
  after(async () => {
    await browser?.close()
    ;(await live.kill)('SIGTERM')
    await live.ended
  })

  async function open(options: BrowserContextOptions): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage()
    page.on('pageerror', error => complaints.push(error.message))
    page.on('console', message => complaints.push(message.text()))
    page.on('request', request => {
      if (!request.url().startsWith(address)) complaints.push(`asked for ${request.url()}`)
    })
    await page.goto(address)
    return page
  }
  /** The points of the last minute, which a new page receives. */
  const points = async (): Promise<LiveUpdate['points'] & {}> => (await toldAt(address)).points ?? []
  const text = async (page: Page, selector: string): Promise<string> =>
    (await page.locator(selector).textContent()) ?? ''
  const figure = async (page: Page, side: string, of: string): Promise<number> =>
    Number((await text(page, `#${side} .fates [data-of="${of}"]`)).replaceAll(',', ''))
  // These run in the browser. They are strings, because the tests are compiled without the types of the DOM.
  const fits = 'document.documentElement.scrollWidth <= innerWidth'
  const small = `[...document.querySelectorAll('button, input')].filter(each => each.getBoundingClientRect().height < 44).map(each => each.id)`
  const inked = `[...document.querySelectorAll('canvas')].filter(each => !each.getContext('2d').getImageData(0, 0, each.width, each.height).data.some(value => value > 0)).map(each => each.className)`

  for (const [colorScheme, width, height] of [
    ['light', 1280, 800],
    ['dark', 320, 640],
  ] as const) {
    test(`${width} px wide, ${colorScheme}: the keyboard moves the load, and the figures follow`, async () => {
      const page = await open({
        viewport: { width, height },
        colorScheme,
        reducedMotion: width < 400 ? 'reduce' : null,
      })
      const slider = page.getByRole('slider', { name: 'Load' })
      await until(
        'the page shows figures',
        async () => (await text(page, '#rate')) !== '' && (await text(page, '#news')) === '',
      )
      await slider.focus()
      await page.keyboard.press('Home')
      assert.equal(
        await slider.getAttribute('aria-valuetext'),
        '0.5 times what the app can do, 25 requests a second on each',
      )
      await until('it gives what it can', async () => (await figure(page, 'protected', 'good')) > 0)
      await page.keyboard.press('ArrowRight')
      assert.equal(await text(page, '#load-now'), '0.6x')
      await page.keyboard.press('End')
      assert.equal(await text(page, '#load-now'), '20x')
      assert.match((await slider.getAttribute('aria-valuetext'))!, /^20 times .* 1,000 requests a second on each$/)
      // The work of the browser alone may suppress the verdict.
      const state = /^(melting|no verdict)$/
      await until('the bare one melts', async () => state.test(await text(page, '#bare .state')))
      await until('its requests are lost', async () => (await figure(page, 'bare', 'lost')) > 100)
      await until('the protected one refuses', async () => (await figure(page, 'protected', 'refused')) > 100)
      await until('the slider is where the load is', async () => (await text(page, '#load-now')) === '20x')

      assert.ok(await page.evaluate<boolean>(fits), 'it scrolls sideways')
      assert.deepEqual(await page.evaluate<string[]>(small), [], 'a finger needs 44 px')
      await until('every canvas is drawn', async () => (await page.evaluate<string[]>(inked)).length === 0)
      await until('and named', async () => (await page.locator('canvas:not([aria-label])').count()) === 0)
      assert.match(
        (await page.locator('#bare .dots').getAttribute('aria-label'))!,
        /^Requests of the last ten seconds, bare: of [\d,.]+ a second, [\d,.]+ answered in time, /,
      )
      assert.match((await text(page, 'footer'))!, /cores, Node v/)
      await page.context().close()
    })
  }

  test('without a verdict, it says so in grey, and why', async t => {
    const told = (unjudged?: string) => {
      const side = { due: 25, good: 0, late: 0, refused: 0, lost: 25, p99Ms: null, ownMs: null, dots: [] }
      const sides = [
        { ...side, state: 'melts' },
        { ...side, state: 'ended' },
      ]
      return { atS: 1, load: 0.5, unjudged, sides, points: [], curve: [] }
    }
    const about = { command: 'node', machine: '', sloMs: 1000, timeoutMs: 2000, capacity: 50, stops: [0.5, 1] }
    const parts = { about: () => about, everything: () => told('the machine was busy'), setLoad() {}, end() {} }
    const served = new PageServer(parts)
    t.after(() => served.close())
    const page = await (await browser.newContext()).newPage()
    await page.goto(await served.listen())
    const state = () => text(page, '#bare .state')
    const colour = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).color`)
    await until('it says so', async () => (await state()) === 'no verdict')
    assert.equal(await text(page, '#unjudged'), 'No verdict: the machine was busy.')
    assert.equal(await text(page, '#protected .state'), 'its process has ended', 'a fact')
    const grey = await colour('#command')
    assert.deepEqual([await colour('#bare .state'), await colour('#unjudged')], [grey, grey])
    served.tell(told())
    await until('the machine is quiet again', async () => (await state()) === 'melting')
    assert.equal(await text(page, '#unjudged'), '')
    assert.notEqual(await colour('#bare .state'), grey)
    await page.context().close()
  })

  test('without events, disables its controls and says that meltlab does not answer', async () => {
    const page = await (await browser.newContext()).newPage()
    await page.route('**/events', route => route.abort())
    await page.goto(address)
    await until('it says so', async () => /^meltlab does not answer here/.test(await text(page, '#news')))
    assert.ok(await page.locator('#load').isDisabled())
    assert.ok(await page.locator('#end').isDisabled())
    await page.context().close()
  })

  test('an invalid load gets a 400, a foreign origin a 403, and the End button leads to the report', async () => {
    const page = await open({ viewport: { width: 1280, height: 800 } })
    await until('the page shows figures', async () => (await text(page, '#rate')) !== '')
    const refused = await fetch(new URL('/load', address), { method: 'POST', body: '{"load":1000}' })
    assert.equal(refused.status, 400)
    assert.equal(await refused.text(), 'load must be a number from 0.5 to 20, got 1000\n')
    const foreign = await fetch(new URL('/end', address), {
      method: 'POST',
      headers: { origin: 'http://evil.example' },
    })
    assert.equal(foreign.status, 403)

    // The previous page may have closed before it requested 20x.
    if ((await points()).at(-1)?.[1] !== 20) {
      const set = await fetch(new URL('/load', address), { method: 'POST', body: '{"load":20}' })
      assert.ok(set.ok, String(set.status))
    }
    // There are two points per second, and a load counts from the third second on.
    const held = async () => (await points()).slice(-17).filter(([, load]) => load === 20).length
    await until('20x was held', async () => (await held()) === 17)
    await page.getByRole('button', { name: 'End' }).click()
    await page.waitForURL('**/report', { timeout: 60_000 })
    // A machine that is busy or has one core allows no verdict, and may have no complete second.
    assert.match(
      await text(page, 'h1'),
      /^(At 20x its capacity, the bare app melts to |No verdict: the (machine|load) |No load was held )/,
    )
    const { code, stdout, stderr, result, files, strays } = await live.ended
    assert.equal(code, 0, stderr)
    assert.deepEqual(strays, [])
    assert.deepEqual(files, ['picture.svg', 'report.html', 'result.json'])
    assert.match(stdout, /report\.html\n$/)
    assert.equal(result!.incomplete, false)
    const rows = result!.measured.rows.filter(row => row.multiple === 20)
    assert.deepEqual(
      rows.map(({ arm }) => arm),
      ['bare', 'protected'],
    )
    // Other processes may starve an arm. Only with a verdict is the protected arm certain to do better.
    if (result!.unjudged === undefined) {
      const [bare, kept] = rows.map(({ failed, unsent }) => failed + unsent)
      assert.ok(bare! > kept!, JSON.stringify(rows))
    }
    assert.ok(rows[1]!.shed > rows[0]!.shed, JSON.stringify(rows))
    // Every request is accounted for.
    for (const row of rows) {
      const { offered, goodput, late, shed, otherStatus, failed, unsent } = row
      assert.ok(Math.abs(offered - goodput - late - shed - otherStatus - failed - unsent) < 1e-6, JSON.stringify(row))
    }
    assert.deepEqual(complaints, [])
  })
})

// These tests mostly wait, so they can run concurrently.
describe('meltlab live in the terminal', { concurrency: 2 }, () => {
  test('Ctrl-C ends the run as complete, and --json prints the result', async () => {
    const { address, ended, kill } = start(['--json', ...POOL])
    await address
    await sleep(1500)
    ;(await kill)('SIGINT')
    const { code, stdout, stderr, result, strays } = await ended
    assert.equal(code, 0, stderr)
    assert.deepEqual(strays, [])
    assert.equal(result!.incomplete, false)
    assert.deepEqual(JSON.parse(stdout), result)
  })

  test('SIGTERM exits with code 143, and keeps what was measured, marked incomplete', async () => {
    const { address, ended, kill } = start(POOL)
    await address
    // Complete seconds at one load count, except the first and the last.
    await sleep(4500)
    ;(await kill)('SIGTERM')
    const { code, stderr, result, strays } = await ended
    assert.equal(code, 143, stderr)
    assert.match(stderr, /meltlab: stopped by SIGTERM\n$/)
    assert.deepEqual(strays, [])
    assert.equal(result!.incomplete, true)
  })

  test('on a busy machine, the page and the report agree that there is no verdict', { skip }, async () => {
    const core = coresOf(allowedCores())?.server
    const [program, ...args] = pinned([process.execPath, '-e', 'for (;;);'], core)
    const busy = spawn(program!, args)
    const { address, ended, kill } = start(POOL)
    const unjudged = /^the (machine was busy: other processes used|load and what it measured shared one core)/
    try {
      const page = (await address)!
      await until('the page says so', async () => unjudged.test((await toldAt(page)).unjudged ?? ''))
      ;(await kill)('SIGINT')
      const { code, stderr, result } = await ended
      assert.equal(code, 0, stderr)
      // Without a complete second that counts, there are no figures to judge.
      if (result!.standings !== undefined) assert.match(result!.unjudged!, unjudged)
    } finally {
      busy.kill('SIGKILL')
      ;(await kill)('SIGTERM')
    }
  })

  test('the capacity is measured again after the load, with new processes', async () => {
    const { code, stderr, result, strays } = await start(['--for', '2s', '--', 'node', app('pool')]).ended
    assert.equal(code, 0, stderr)
    assert.deepEqual(strays, [])
    assert.match(stderr, /^capacity [\d,.]+\/s, used for both\n(.*\n)*capacity again [\d,.]+\/s$/m)
    assert.ok(result!.measured.capacity!.after! > 0)
  })

  test('a command that answers a redirect is measured, and the report says that it was not followed', async () => {
    const { code, stderr, result } = await start(['--for', '2s', '--capacity', '50', '--', 'node', app('redirects')])
      .ended
    assert.equal(code, 0, stderr)
    const why = result!.why.filter(reason => /redirect/.test(reason))
    assert.deepEqual(why, ['GET / is answered 302, and redirects are not followed; measure their target with --path'])
  })

  for (const [when, ms, args] of [
    ['while the services start', 900, POOL],
    ['while the capacity is found', 4000, ['--', 'node', app('pool')]],
  ] as const) {
    test(`Ctrl-C ${when} ends the run, and leaves no process behind`, async () => {
      const { ended, kill } = start(args)
      await sleep(ms)
      ;(await kill)('SIGINT')
      const { code, stderr, strays } = await ended
      // On a fast machine the page is already open.
      assert.ok(code === (stderr.includes('watch it on') ? 0 : 130), `${code} ${stderr}`)
      assert.deepEqual(strays, [])
    })
  }

  test('the run ends after --for, even if a measured process has exited before', async () => {
    const { ended } = start(['--for', '3s', '--capacity', '100', '--', 'node', app('dies-under-load'), '60'])
    const { code, stderr, result, strays } = await ended
    assert.equal(code, 0, stderr)
    assert.deepEqual(strays, [])
    assert.match(stderr, /^bare: its process exited with code 7$/m)
    assert.equal(result!.measured.died['bare']!.how, 'exited with code 7')
  })

  test('a command is refused if its port is fixed, if it exits, never listens or does not exist', async () => {
    const server = http.createServer((_request, response) => response.end('somebody else')).listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    const { port } = server.address() as net.AddressInfo
    const of = (...args: string[]) => start(['--capacity', '50', '--start-timeout', '5s', '--', ...args]).ended
    const taken = await of('node', app('fixed-port'), String(port))
    server.close()
    server.closeAllConnections()
    const all = [taken, await of('node', app('exits')), await of('node', app('never-listens')), await of('nodee', 'x')]
    const words = [
      /its port is taken[\s\S]*runs the command twice at the same time, so it must listen on PORT/,
      /meltlab: the command exited with code 3 before it listened on a port/,
      /meltlab: the command runs but listened on no TCP port within 5s/,
      /^meltlab: there is no program 'nodee' to start\n$/,
    ]
    for (const [at, { code, stdout, stderr, strays }] of all.entries()) {
      assert.match(stderr, words[at]!)
      assert.deepEqual([code, stdout, strays], [2, '', []], stderr)
    }
  })

  test('a command that ignores PORT is refused, and the error has its address', async () => {
    const { code, stderr, strays } = await start(['--capacity', '50', '--', 'node', app('hello')]).ended
    assert.match(stderr, /^meltlab: the command listens at http:\S+ although PORT is \d+: .*twice at the same time/m)
    assert.deepEqual([code, strays], [2, []])
  })
})
