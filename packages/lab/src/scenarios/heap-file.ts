/** Adds apps/heap-probe.js to an app, and reads its output. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { appFile } from '../experiment/app-file.ts'
import type { Context } from '../experiment/scenario.ts'
import { temporaryFolder } from '../experiment/temporary-folder.ts'

export interface HeapProbe {
  readonly env: Readonly<Record<string, string>>
  readonly nodeOptions: string
  /** Heap in use from `fromMs` to `toMs` (Date.now()), bytes, every 100 ms. */
  read(fromMs: number, toMs: number): number[]
}

export function heapProbe(context: Context): HeapProbe {
  const file = path.join(temporaryFolder(context, 'heap'), 'heap.txt')
  const probe = pathToFileURL(path.resolve(appFile('heap-probe.js'))).href
  return {
    env: { MELTLAB_HEAP_FILE: file },
    nodeOptions: `--import ${probe}`,
    read: (fromMs, toMs) => heapBetween(readFileSync(file, 'utf8'), fromMs, toMs),
  }
}

/** Ignores an incomplete last line. Pure. */
export function heapBetween(text: string, fromMs: number, toMs: number): number[] {
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap(line => {
      const [at, bytes] = line.split(' ').map(Number)
      return at! >= fromMs && at! <= toMs && Number.isFinite(bytes) ? [bytes!] : []
    })
}
