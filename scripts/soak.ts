/**
 * Runs the scenarios of scripts/soak for minutes and shows that memory stays flat. Samples the heap after a collection,
 * rss and open files about forty times, after a warm-up. Ends with 1 when the heap or the number of open files grew, a
 * step threw, or a scenario left a deadline pending. The growth of rss is only printed.
 *
 *   npm run soak -- [--minutes 10] [--only deadline,outbound] [--leak]
 *
 * --leak keeps 10 KB per step on purpose, about 100 bytes for each call of `deadline`, to show that it is noticed.
 */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { growth } from './growth.ts'
import { scriptOptions } from './script-options.ts'
import type { SoakScenario } from './soak/scenario.ts'

const { values, chosen, refuse } = scriptOptions(import.meta.filename, {
  minutes: { type: 'string', default: '10' },
  only: { type: 'string' },
  leak: { type: 'boolean', default: false },
  run: { type: 'string' },
})
const minutes = Number(values.minutes)
if (!(minutes > 0 && minutes <= 24 * 60)) {
  refuse(`--minutes must be a number from above 0 to 1440, got '${values.minutes}'`)
}
const folder = join(import.meta.dirname, 'soak')
const all = readdirSync(folder).filter(name => name.endsWith('.ts') && name !== 'scenario.ts')
const known = all.map(name => name.replace(/\.ts$/, ''))
const names = chosen('only', known)

/** Samples are taken only after this share of the time, when the code is warm. */
const WARM_UP = 0.35
/** Growth that is allowed, because V8 still optimises code. */
const ALLOWED_BYTES = 2 * 2 ** 20
const ALLOWED_FILES = 20

if (values.run === undefined) {
  // All scenarios run at the same time, each in its own process, so that a leak belongs to one scenario.
  const codes = await Promise.all(names.map(runApart))
  process.exit(Math.max(...codes))
} else {
  const { scenario } = (await import(join(folder, `${values.run}.ts`))) as { scenario: SoakScenario }
  process.exit((await soak(scenario)) ? 0 : 1)
}

function runApart(name: string): Promise<number> {
  const args = ['--expose-gc', import.meta.filename, '--run', name, '--minutes', String(minutes)]
  const child = spawn(process.execPath, values.leak ? [...args, '--leak'] : args, { stdio: 'inherit' })
  return new Promise(resolve => child.on('exit', code => resolve(code ?? 1)))
}

interface Sample {
  readonly heap: number
  readonly rss: number
  readonly files: number
}

async function soak(scenario: SoakScenario): Promise<boolean> {
  const soaking = await scenario.start()
  const startMs = performance.now()
  const endMs = startMs + minutes * 60_000
  const everyMs = Math.max(500, (minutes * 60_000) / 60)
  const samples: Sample[] = []
  const leaked: Buffer[] = []
  let steps = 0
  let nextMs = startMs + minutes * 60_000 * WARM_UP
  while (performance.now() < endMs) {
    await soaking.step()
    steps++
    if (values.leak) leaked.push(Buffer.alloc(10_240))
    if (performance.now() < nextMs) continue
    nextMs = performance.now() + everyMs
    samples.push(await sample())
  }
  await soaking.stop()
  const grew = (of: (s: Sample) => number): number => growth(samples.map(of))
  const heap = grew(s => s.heap)
  const files = grew(s => s.files)
  const flat = heap <= ALLOWED_BYTES && files <= ALLOWED_FILES
  const last = samples.at(-1)!
  console.log(
    `${flat ? 'flat' : 'GREW'}: ${scenario.name}: ${steps} steps in ${minutes} min; ` +
      `heap ${mib(last.heap)}, ${signed(heap / 1024)} KiB from the first to the last of ${samples.length} samples; ` +
      `rss ${mib(last.rss)}, ${signed(grew(s => s.rss) / 1024)} KiB; files ${last.files}; ${JSON.stringify(soaking.counts)}` +
      (leaked.length > 0 ? '; leaking on purpose' : ''),
  )
  return flat
}

async function sample(): Promise<Sample> {
  const collect = globalThis.gc
  if (collect === undefined) throw new Error('run it by npm run soak: it needs --expose-gc')
  for (let i = 0; i < 2; i++) {
    collect()
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed + external, rss, files: readdirSync('/proc/self/fd').length }
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

function signed(value: number): string {
  return `${value >= 0 ? '+' : ''}${value.toFixed(0)}`
}
