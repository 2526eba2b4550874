import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { queryObjects } from 'node:v8'
import { sourceOf } from '../../src/culprit/source-lines.ts'
import type { Place } from '../../src/culprit/place.ts'

const scratch = mkdtempSync(join(tmpdir(), 'meltproof-source-lines-'))
after(() => rmSync(scratch, { recursive: true }))

/** Writes a generated file and its map. Line n of the generated file is line 10n of NAME.ts. */
function generated(name: string, mapBytes = 0): string {
  const file = join(scratch, `${name}.js`)
  writeFileSync(file, `render()\nrender()\nrender()\n//# sourceMappingURL=${name}.js.map\n`)
  // Each segment has four differences: generated column 0, source 0, ten lines further, column 0.
  const map = { version: 3, sources: [`${name}.ts`], names: [], mappings: 'AASA;AAUA;AAUA' }
  const text = JSON.stringify(map)
  writeFileSync(`${file}.map`, text.padEnd(mapBytes))
  return file
}

function at(file: string, line: number, lastLine = line): Place {
  return { name: 'render', file, line, column: 1, lastLine }
}

it('a line of a generated file becomes the line of its source', () => {
  const file = generated('one')
  const source = join(scratch, 'one.ts')
  assert.deepEqual(sourceOf(at(file, 2)), { name: 'render', file: source, line: 20, column: 1, lastLine: 20 })
  assert.deepEqual(sourceOf(at(file, 1, 3)), { name: 'render', file: source, line: 10, column: 1, lastLine: 30 })
})

it('a place stays as it is without a map, and with a map of more than 2 MB', () => {
  const bare = join(scratch, 'bare.js')
  writeFileSync(bare, 'render()\n')
  assert.deepEqual(sourceOf(at(bare, 1)), at(bare, 1))
  const large = generated('large', 2_000_001)
  assert.deepEqual(sourceOf(at(large, 2)), at(large, 2))
  assert.equal(sourceOf(at(generated('less', 2_000_000), 2)).file, join(scratch, 'less.ts'))
})

it('a place is looked up once, and no map stays in memory', async () => {
  const files = ['a', 'b', 'c'].map(name => generated(name))
  for (const file of files) assert.equal(sourceOf(at(file, 2)).line, 20)
  // Weak references keep their objects until the running job has ended.
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(queryObjects(SourceMap, { format: 'count' }), 0)
  for (const file of files) truncateSync(`${file}.map`)
  for (const file of files) assert.equal(sourceOf(at(file, 2)).line, 20)
})
