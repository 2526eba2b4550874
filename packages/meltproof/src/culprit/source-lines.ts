/** Finds the source line of generated JavaScript with its source map. Maps are read only for places that are named. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { findSourceMap, SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quietly } from '../warnings.ts'
import type { Place } from './place.ts'

/** A map blocks the main thread while it is read and decoded: for an estimated 30 to 60 ms if it has this size. */
const MOST_MAP_BYTES = 2_000_000
const MOST_RESOLVED = 500
/** The comment with the map's path is searched for in this many bytes at the file's end. Inline maps are not read. */
const TAIL_BYTES = 4096

type Lines = Pick<Place, 'file' | 'line' | 'lastLine'>

/** The lines of the source, by the place in the generated file. */
const resolved = new Map<string, Lines>()
/** The last map that was read. A map takes many times the size of its file, so the garbage collector may free it. */
let latest: { readonly file: string; readonly map: WeakRef<SourceMap> } | undefined

/** Returns the same place if there is no map. */
export function sourceOf(place: Place): Place {
  const { file, line, column, lastLine } = place
  const key = `${line}:${column}-${lastLine} ${file}`
  let lines = resolved.get(key)
  if (lines === undefined) {
    lines = quietly(() => linesOf(place)) ?? { file, line, lastLine }
    if (resolved.size >= MOST_RESOLVED) resolved.clear()
    resolved.set(key, lines)
  }
  return { ...place, ...lines }
}

function linesOf(place: Place): Lines | undefined {
  const map = mapOf(place.file)
  const first = map && entryOf(map, place.line, place.column)
  const file = first && fileOf(first.source, place.file)
  if (map === undefined || first === undefined || file === undefined) return undefined
  const last = place.lastLine === place.line ? first : entryOf(map, place.lastLine, 1)
  return { file, line: first.line, lastLine: Math.max(first.line, last?.line ?? first.line) }
}

function entryOf(map: SourceMap, line: number, column: number): { source: string; line: number } | undefined {
  const entry = map.findEntry(line - 1, column - 1)
  return 'originalSource' in entry ? { source: entry.originalSource, line: entry.originalLine + 1 } : undefined
}

function fileOf(source: string, generated: string): string | undefined {
  if (source.startsWith('file:')) return fileURLToPath(source)
  // Bundlers write sources such as webpack://app/src/a.ts.
  const path = source.replace(/^[a-z][\w+.-]*:\/\/(?:[^/]*\/)?/i, '')
  return path === '' ? undefined : resolve(dirname(generated), path)
}

function mapOf(file: string): SourceMap | undefined {
  // Only Node knows the maps of loaders, and only with source maps enabled.
  const known = findSourceMap(file)
  if (known !== undefined) return known
  const found = (latest?.file === file ? latest.map.deref() : undefined) ?? mapBeside(file)
  if (found !== undefined) latest = { file, map: new WeakRef(found) }
  return found
}

function mapBeside(file: string): SourceMap | undefined {
  const url = /\/[/*][#@] sourceMappingURL=([^\s*]+)[\s*/]*$/.exec(tailOf(file))?.[1]
  if (url === undefined || /^(?!file:)[a-z][\w+.-]*:/i.test(url)) return undefined
  const path = url.startsWith('file:') ? fileURLToPath(url) : resolve(dirname(file), decodeURIComponent(url))
  if (statSync(path).size > MOST_MAP_BYTES) return undefined
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
