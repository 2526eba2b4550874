/**
 * The moving picture of the README: ten seconds of the page of `meltlab live`, as the load goes from half of the capacity to
 * ten times. `npm run build` first.
 *
 *   node scripts/live-picture.ts [file]
 *
 * Writes docs/images/live.gif. Exit code 1 when it is larger than 1 MB.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { burstCommand } from '../packages/lab/src/scenarios/burst.ts'

/** What we use of it; it brings no types. */
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
const SIZE = { width: 880, height: 500 }
const LASTS_MS = 10_000
const FRAME_MS = 200
/** The load goes up a step at these times. */
const RISES_MS = [2000, 2600, 3200, 3800]
/** One more is for what has not changed since the frame before. */
const COLOURS = 63
const MOST_BYTES = 1_000_000

async function framesOf(url: string, browser: Browser): Promise<Uint8Array[]> {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'dark' })
  await page.goto(url)
  const slider = page.locator('#load')
  await slider.focus()
  await page.waitForTimeout(6000)
  const shots: Buffer[] = []
  const rises = [...RISES_MS]
  const startedMs = Date.now()
  for (let at = 0; at < LASTS_MS; at += FRAME_MS) {
    while (rises.length > 0 && at >= rises[0]!) {
      rises.shift()
      await page.keyboard.press('ArrowRight')
    }
    if (rises.length === 0 && at < RISES_MS.at(-1)! + FRAME_MS) await untilTenfold()
    shots.push(await page.screenshot({ type: 'png' }))
    await sleep(Math.max(0, startedMs + at + FRAME_MS - Date.now()))
  }
  const frames: Uint8Array[] = []
  for (const shot of shots) frames.push(await pixelsOf(shot))
  return frames

  async function untilTenfold(): Promise<void> {
    for (let steps = 0; steps < 20 && (await page.locator('#load-now').textContent()) !== '10x'; steps++) {
      await page.keyboard.press('ArrowRight')
    }
  }

  /** The browser reads its own pictures. */
  async function pixelsOf(png: Buffer): Promise<Uint8Array> {
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

function gifOf(frames: readonly Uint8Array[]): Uint8Array {
  const gif = GIFEncoder()
  const some = Buffer.concat([frames[0]!, frames[frames.length >> 1]!, frames.at(-1)!])
  const palette = [...quantize(new Uint8Array(some), COLOURS)]
  const same = palette.length
  let before: Uint8Array | undefined
  for (const frame of frames) {
    const drawn = applyPalette(frame, palette)
    const changed = drawn.map((colour, at) => (before?.[at] === colour ? same : colour))
    gif.writeFrame(changed, SIZE.width, SIZE.height, {
      ...(before === undefined ? { palette: [...palette, [0, 0, 0]] } : {}),
      ...{ transparent: before !== undefined, transparentIndex: same, delay: FRAME_MS, dispose: 1 },
    })
    before = drawn
  }
  gif.finish()
  return gif.bytes()
}

const lab = spawn(
  process.execPath,
  [
    path.join(root, 'packages/lab/dist/cli.js'),
    'live',
    '--name',
    'burst',
    '--no-open',
    '--for',
    '2m',
    '--',
    ...burstCommand,
  ],
  { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
)
const url = await new Promise<string>((resolve, reject) => {
  let said = ''
  for (const stream of [lab.stdout, lab.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      said += text
      const found = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(said.split('\n').slice(0, -1).join('\n'))
      if (found !== null) resolve(found[0])
    })
  }
  lab.once('exit', code => reject(new Error(`meltlab live ended with ${code}: ${said}`)))
})
const browser = await chromium.launch({
  executablePath: await sparticuz.executablePath(),
  args: ['--no-sandbox', '--disable-gpu'],
  headless: true,
})
const reader = await browser.newPage()
try {
  const gif = gifOf(await framesOf(url, browser))
  writeFileSync(file, gif)
  console.log(`${path.relative(root, file)}: ${gif.length} bytes`)
  if (gif.length > MOST_BYTES) process.exitCode = 1
} finally {
  await browser.close()
  lab.removeAllListeners('exit')
  lab.kill('SIGINT')
}
