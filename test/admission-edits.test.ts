/** Every rule and constant that `npm run bench:admission` edits must exist in the source. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CONSTANTS, RULES } from '../bench/lib/admission-edits.ts'
import { edited } from '../bench/lib/edited-source.ts'

const ROOT = join(import.meta.dirname, '../packages/meltproof')
const sources = ['src/admission', 'sim'].flatMap(folder => globSync(join(ROOT, folder, '**/*.ts')))

for (const { name, edits } of [
  ...RULES,
  ...CONSTANTS.map(({ name, shipped, editFor }) => ({ name, edits: [editFor(`${shipped} + 0`)] })),
]) {
  test(`the edit "${name}" applies to exactly one source file`, () => {
    for (const edit of edits) {
      const found = sources.filter(file => file.endsWith(`/${edit.file}`))
      assert.equal(found.length, 1, `${edit.file}: ${found.join(', ')}`)
      const source = readFileSync(found[0]!, 'utf8')
      assert.notEqual(edited(source, edit), source)
    }
  })
}

test('every constant has a reason', () => {
  assert.deepEqual(
    CONSTANTS.filter(({ reason }) => reason === '').map(({ name }) => name),
    [],
  )
})
