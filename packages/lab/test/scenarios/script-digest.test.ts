/** The digest of a scenario's script changes with everything that may change its figures, and with nothing else. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { scriptDigest } from '../../src/experiment/script-digest.ts'
import { catalogue } from '../../src/scenarios/catalogue.ts'

test('the digest covers the script, its imports and its apps, but not views or comments', t => {
  const lab = mkdtempSync(path.join(tmpdir(), 'meltlab-digest-'))
  t.after(() => rmSync(lab, { recursive: true, force: true }))
  mkdirSync(path.join(lab, 'src/scenarios'), { recursive: true })
  mkdirSync(path.join(lab, 'apps'))
  const write = (file: string, text: string): void => writeFileSync(path.join(lab, file), text)
  const script =
    "import { rate } from './nap-times.ts'\nimport { view } from './nap-view.ts'\nstart({ run: 'nap.js', rate })\n"
  write('src/scenarios/nap.ts', script)
  write('src/scenarios/nap-times.ts', 'export const rate = 5')
  write('src/scenarios/nap-view.ts', "export const view = () => 'sleepy'")
  write('apps/nap.js', "import './bed.js'\n")
  write('apps/bed.js', 'sleep(5)')
  const digest = (): string | undefined => scriptDigest('nap', lab)
  const first = digest()
  assert.match(first!, /^[0-9a-f]{12}$/)
  write('src/scenarios/nap.ts', `/** Why. */\n${script}\n// more\n`)
  write('src/scenarios/nap-view.ts', "export const view = () => 'drowsy'")
  assert.equal(digest(), first)
  const seen = new Set([first])
  for (const [file, text] of [
    ['src/scenarios/nap.ts', `${script}again()`],
    ['src/scenarios/nap-times.ts', 'export const rate = 6'],
    ['apps/nap.js', "import './bed.js'\nyawn()"],
    ['apps/bed.js', 'sleep(6)'],
  ] as const) {
    write(file, text)
    assert.ok(!seen.has(digest()), file)
    seen.add(digest())
  }
})

test('the digests of all scenarios differ, and scriptDigest() is undefined where the sources are missing', () => {
  assert.equal(new Set(catalogue.map(({ name }) => scriptDigest(name))).size, catalogue.length)
  for (const { name } of catalogue) assert.ok(scriptDigest(name), name)
  assert.equal(scriptDigest('burst', tmpdir()), undefined)
})
