/**
 * Makes the animation in the README: ten seconds of the page of `meltlab live`, while the load rises from half of the
 * capacity to ten times. Run `npm run build` first, on a quiet machine.
 *
 *   node scripts/live-picture.ts [file]
 *
 * The picture is a replay of a recorded run, because on two cores the browser would make the machine busy, and the page
 * would say "no verdict". So meltlab live runs first, without a browser, and this script records its events. Afterwards
 * the page server sends the recorded events to the same page, and Chromium takes the frames.
 *
 * Writes docs/images/live.gif. Exit code 1 when it is larger than 1 MB, or when the report of the run has no verdict.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium, type Page } from 'playwright-core'
import { PageServer } from '../packages/lab/src/live/page-server.ts'
import type { LiveUpdate } from '../packages/lab/src/live/session.ts'
import type { ScenarioResult } from '../packages/lab/src/report/result.ts'
import { burstCommand } from '../packages/lab/src/scenarios/burst.ts'

/** The part of gifenc that we use. It has no types. */
interface Gifenc {
  GIFEncoder(): {
    writeFrame(pixels: Uint8Array, width: number, height: number, options: object): void
    finish(): void
    bytes(): Uint8Array
  }
  quantize(pixels: Uint8Array, most: number): number[][]
  applyPalette(pixels: Uint8Array, palette: number[][]): Uint8Array
}
const { GIFEncoder, quantize, applyPalette } = createRequire(import.meta.url)('gifenc') as Gifenc

const root = fileURLToPath(new URL('..', import.meta.url))
const file = path.resolve(process.argv[2] ?? path.join(root, 'docs/images/live.gif'))
/** High enough for the whole page; the picture is cut off below the two sides. Pixels. */
const SIZE = { width: 920, height: 800 }
const LASTS_S = 10
const FRAME_MS = 200
/** Seconds of the run. The page shows the dots of ten seconds, so the picture begins later. */
const FROM_S = 10.5
const RISES_S = FROM_S + 1
/** Time at each stop of the slider, like a user who drags it. */
const STEP_S = 0.15
const MOST_LOAD = 10
/** Time on the page's clock at which the replay begins. The page has loaded before. */
const LOADED_MS = 60_000
/** Late enough for the report to judge the highest load, which takes seven seconds. */
const ENDS_S = 25
/** One more colour marks pixels that did not change since the frame before. */
const COLOURS = 63
const MOST_BYTES = 1_000_000

interface Frames {
  readonly width: number
  readonly height: number
  readonly pixels: readonly Uint8Array[]
}

/** The events that a page would have received during the run. */
interface Recording {
  readonly about: { readonly stops: readonly number[] }
  readonly updates: readonly LiveUpdate[]
}

async function recordRun(): Promise<Recording> {
  const lab = spawn(
    process.execPath,
    [
      path.join(root, 'packages/lab/dist/cli.js'),
      ...['live', '--name', 'burst', '--no-open', '--json', '--for', '2m', '--', ...burstCommand],
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  try {
    const result = text(lab.stdout!)
    const recording = await recordEvents(await addressOf(lab))
    const printed = await result
    if (printed === '') throw new Error('meltlab live ended without a result; run it by hand to see why')
    const { certified, why, unjudged, standings } = JSON.parse(printed) as ScenarioResult
    if (unjudged !== undefined) throw new Error(`the report of the run has no verdict: ${unjudged}`)
    for (const { arm, says } of standings ?? []) console.log(`${arm} ${says}`)
    console.log(certified ? 'certified' : `not certified: ${why.join('; ')}`)
    return recording
  } finally {
    lab.kill()
  }
}

async function addressOf(lab: ChildProcess): Promise<string> {
  let said = ''
  for await (const chunk of lab.stderr!.iterator({ destroyOnReturn: false })) {
    said += chunk
    const found = /http:\/\/127\.0\.0\.1:\d+\/(?=\s)/.exec(said)
    if (found === null) continue
    lab.stderr!.resume()
    return found[0]
  }
  throw new Error(`meltlab live ended: ${said}`)
}

/** Moves the load and ends the run, like a user of the page. */
async function recordEvents(url: string): Promise<Recording> {
  // The generator gets the core first, as it does with a real page server.
  os.setPriority(os.constants.priority.PRIORITY_LOW)
  const { body } = await fetch(`${url}events`)
  let about: Recording['about'] = { stops: [] }
  const updates: LiveUpdate[] = []
  const steer = async ({ atS, load }: LiveUpdate): Promise<void> => {
    const rising = about.stops.filter(stop => stop <= MOST_LOAD)
    const wanted = rising[Math.min(Math.floor(Math.max(0, atS - RISES_S) / STEP_S), rising.length - 1)]
    if (wanted !== load) await fetch(`${url}load`, { method: 'POST', body: JSON.stringify({ load: wanted }) })
    if (atS >= ENDS_S) await fetch(`${url}end`, { method: 'POST' })
  }
  let pending = ''
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    const events = (pending + chunk).split('\n\n')
    pending = events.pop()!
    for (const event of events) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event)!
      if (name === 'about') about = JSON.parse(data!)
      if (name !== 'told') continue
      const update = JSON.parse(data!) as LiveUpdate
      updates.push(update)
      await steer(update)
    }
  }
  return { about, updates }
}

/** The clock of the page follows the run, and stops while a frame is taken. */
async function framesOf({ about, updates }: Recording, browser: Browser): Promise<Frames> {
  const server = new PageServer({ about: () => about, everything: () => undefined, setLoad: () => {}, end: () => {} })
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'dark' })
  await page.clock.install({ time: 0 })
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('Network.enable')
  const received = (): Promise<void> =>
    new Promise(resolve => devTools.once('Network.eventSourceMessageReceived', () => resolve()))
  try {
    const ready = received()
    await page.goto(await server.listen())
    await ready
    const { y, height } = (await page.locator('main').boundingBox())!
    const clip = { x: 0, y: 0, width: SIZE.width, height: Math.ceil(y + height) + 6 }
    const shots: Buffer[] = []
    let sent = 0
    for (let atMs = FROM_S * 1000; atMs < (FROM_S + LASTS_S) * 1000; atMs += FRAME_MS) {
      for (; updates[sent] !== undefined && updates[sent]!.atS * 1000 <= atMs; sent++) {
        await page.clock.pauseAt(LOADED_MS + updates[sent]!.atS * 1000)
        const shown = received()
        server.tell(updates[sent])
        await shown
      }
      shots.push(await page.screenshot({ type: 'png', clip }))
    }
    // The page's content security policy forbids the fetch in pixelsOf.
    const reader = await browser.newPage()
    const pixels: Uint8Array[] = []
    for (const shot of shots) pixels.push(await pixelsOf(shot, reader))
    return { ...clip, pixels }
  } finally {
    await server.close()
  }

  /** Reads the pixels of a screenshot with the browser. */
  async function pixelsOf(png: Buffer, reader: Page): Promise<Uint8Array> {
    const code = `(async () => {
      const answer = await fetch('data:image/png;base64,${png.toString('base64')}')
      const bitmap = await createImageBitmap(await answer.blob())
      const ink = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
      ink.drawImage(bitmap, 0, 0)
      const { data } = ink.getImageData(0, 0, bitmap.width, bitmap.height)
      let text = ''
      for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768))
      return btoa(text)
    })()`
    return new Uint8Array(Buffer.from(await reader.evaluate<string>(code), 'base64'))
  }
}

function gifOf({ pixels: frames, width, height }: Frames): Uint8Array {
  const gif = GIFEncoder()
  const some = Buffer.concat([frames[0]!, frames[frames.length >> 1]!, frames.at(-1)!])
  const palette = [...quantize(new Uint8Array(some), COLOURS)]
  const same = palette.length
  let before: Uint8Array | undefined
  for (const frame of frames) {
    const drawn = applyPalette(frame, palette)
    const changed = drawn.map((colour, at) => (before?.[at] === colour ? same : colour))
    gif.writeFrame(changed, width, height, {
      ...(before === undefined ? { palette: [...palette, [0, 0, 0]] } : {}),
      ...{ transparent: before !== undefined, transparentIndex: same, delay: FRAME_MS, dispose: 1 },
    })
    before = drawn
  }
  gif.finish()
  return gif.bytes()
}

const recording = await recordRun()
const browser = await chromium.launch({
  executablePath: await sparticuz.executablePath(),
  args: ['--no-sandbox', '--disable-gpu'],
  headless: true,
})
try {
  const gif = gifOf(await framesOf(recording, browser))
  writeFileSync(file, gif)
  console.log(`${path.relative(root, file)}: ${gif.length} bytes`)
  if (gif.length > MOST_BYTES) process.exitCode = 1
} finally {
  await browser.close()
}
