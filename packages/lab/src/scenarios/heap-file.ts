/** Reads what apps/heap-probe.js wrote, and hands the probe to an app. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { appFile } from '../experiment/app-file.ts'
import type { Context } from '../experiment/scenario.ts'

export interface HeapProbe {
  readonly env: Readonly<Record<string, string>>
  readonly nodeOptions: string
  /** Heap in use from `fromMs` to `toMs` (of Date.now()), bytes, every 100 ms. */
  read(fromMs: number, toMs: number): number[]
}

export function heapProbe(context: Context): HeapProbe {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'meltlab-heap-'))
  context.cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'heap.txt')
  const probe = pathToFileURL(path.resolve(appFile('heap-probe.js'))).href
  return {
    env: { MELTLAB_HEAP_FILE: file },
    nodeOptions: `--import ${probe}`,
    read: (fromMs, toMs) => heapBetween(readFileSync(file, 'utf8'), fromMs, toMs),
  }
}

/** Pure. The last line may be half written. */
export function heapBetween(text: string, fromMs: number, toMs: number): number[] {
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap(line => {
      const [at, bytes] = line.split(' ').map(Number)
      return at! >= fromMs && at! <= toMs && Number.isFinite(bytes) ? [bytes!] : []
    })
}
