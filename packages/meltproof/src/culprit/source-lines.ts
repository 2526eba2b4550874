/** Finds the source line of generated JavaScript with its source map. Maps are read only for places that are named. */
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { findSourceMap, SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place } from './place.ts'

const MOST_FILES = 50
const MOST_MAP_BYTES = 20_000_000
/** The comment with the path of the map is looked for in the last bytes of a file. Inline maps are not read. */
const TAIL_BYTES = 4096

const maps = new Map<string, SourceMap | undefined>()

/** Returns the same place if there is no map. */
export function sourceOf(place: Place): Place {
  try {
    const map = mapOf(place.file)
    if (map === undefined) return place
    const first = entryOf(map, place.line, place.column)
    if (first === undefined) return place
    const last = place.lastLine === place.line ? first : entryOf(map, place.lastLine, 1)
    const file = fileOf(first.source, place.file)
    if (file === undefined) return place
    return { ...place, file, line: first.line, lastLine: Math.max(first.line, last?.line ?? first.line) }
  } catch {
    return place
  }
}

function entryOf(
  map: SourceMap,
  line: number,
  column: number,
): { readonly source: string; readonly line: number } | undefined {
  const entry = map.findEntry(line - 1, column - 1)
  return 'originalSource' in entry ? { source: entry.originalSource, line: entry.originalLine + 1 } : undefined
}

function fileOf(source: string, generated: string): string | undefined {
  if (source.startsWith('file:')) return fileURLToPath(source)
  // Bundlers write webpack://app/src/a.ts
  const path = source.replace(/^[a-z][\w+.-]*:\/\/(?:[^/]*\/)?/i, '')
  return path === '' ? undefined : resolve(dirname(generated), path)
}

function mapOf(file: string): SourceMap | undefined {
  // Only Node knows the maps of loaders, and only with source maps enabled.
  const known = findSourceMap(file)
  if (known !== undefined) return known
  if (maps.has(file)) return maps.get(file)
  const found = mapBeside(file)
  if (maps.size < MOST_FILES) maps.set(file, found)
  return found
}

function mapBeside(file: string): SourceMap | undefined {
  const url = /\/[/*][#@] sourceMappingURL=([^\s*]+)[\s*/]*$/.exec(tailOf(file))?.[1]
  if (url === undefined || /^(?!file:)[a-z][\w+.-]*:/i.test(url)) return undefined
  const path = url.startsWith('file:') ? fileURLToPath(url) : resolve(dirname(file), decodeURIComponent(url))
  if (!existsSync(path) || statSync(path).size > MOST_MAP_BYTES) return undefined
  return new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
}

function tailOf(file: string): string {
  const handle = openSync(file, 'r')
  try {
    const { size } = statSync(file)
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES))
    readSync(handle, bytes, 0, bytes.length, size - bytes.length)
    return bytes.toString('utf8')
  } finally {
    closeSync(handle)
  }
}
