/** A checkout may be in any folder, also below one with a space or a percent sign in its name. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
/** A path in a URL is encoded, for example as `my%20code`, and is not the name of a folder. */
const WRONG = /new URL\([^()]*import\.meta\.url\)\.pathname|import\.meta\.url\.(slice|replace)/

test('file URLs become paths by fileURLToPath, never by their pathname', () => {
  const files = globSync('{packages,examples,bench,scripts,test}/**/*.{ts,js,mjs,cjs}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  })
  assert.ok(files.length > 100)
  assert.deepEqual(
    files.filter(file => WRONG.test(readFileSync(join(root, file), 'utf8'))),
    [],
  )
})
