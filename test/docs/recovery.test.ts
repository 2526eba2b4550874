/** docs/recovery.md matches the committed result, and docs/faq.md quotes it correctly. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AppRecovery, BAR_S, DISTURBED, isJudged, recoveryPage, summaryOf } from '../../bench/lib/recovery-page.ts'
import { LATE_BEFORE } from '../../packages/lab/src/melt/recovery.ts'
import { ROOT } from './pages.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const results = JSON.parse(read('bench/results/recovery.json')) as Record<string, AppRecovery>
const known = globSync('apps/*/app.ts', { cwd: ROOT }).length
const all = Object.values(results)

test('docs/recovery.md matches its result', () => {
  assert.equal(read('docs/recovery.md'), recoveryPage(results, known), 'node bench/recovery.ts --page writes it')
})

test('docs/faq.md has the number of recovered apps and their slowest time', () => {
  const { judged, back, bareBack, slowestS } = summaryOf(all)
  const paragraph = read('docs/faq.md')
    .split('\n\n')
    .find(text => text.includes('](recovery.md)'))!
    .replaceAll('\n', ' ')
  const said =
    /Within (\d+) s after that, (\d+) of (\d+) protected apps had recovered; without meltproof (\w+) had/.exec(
      paragraph,
    )
  const bare = bareBack.length === 0 ? 'none' : `${bareBack.length}`
  assert.deepEqual(said?.slice(1), [`${slowestS}`, `${back.length}`, `${judged.length}`, bare], paragraph)
  const quoted = /(\d+) others? could not be judged or were not measured/.exec(paragraph)?.[1] ?? '0'
  assert.equal(quoted, `${known - judged.length}`)
})

/** The first of the committed apps that can be judged. */
const one: AppRecovery = { ...all.find(isJudged)!, lowered: [] }
const withProtected = (more: Partial<AppRecovery['protected']>): AppRecovery => ({
  ...one,
  protected: { ...one.protected, ...more },
})

test('an app that was not judged or recovered too late does not count as recovered', () => {
  const counts = (app: AppRecovery): number[] => {
    const { judged, back } = summaryOf([app])
    return [judged.length, back.length]
  }
  assert.deepEqual(counts(withProtected({ backAfterS: BAR_S })), [1, 1])
  assert.deepEqual(counts(withProtected({ backAfterS: BAR_S + 1 })), [1, 0])
  assert.deepEqual(counts(withProtected({ backAfterS: null })), [1, 0])
  assert.deepEqual(counts(withProtected({ unsure: 'the generator itself was late' })), [0, 0])
  assert.deepEqual(counts(withProtected({ unsure: DISTURBED })), [0, 0])
})

test('a protected app that sheds before the spike, where bare does not, fails even if the generator was late', () => {
  const seconds = one.protected.seconds.map((each, s) => (s < 3 ? { ...each, goodput: each.offered / 2 } : each))
  for (const unsure of [LATE_BEFORE, 'the generator itself was late', null]) {
    const { judged, back } = summaryOf([withProtected({ unsure, seconds })])
    assert.deepEqual([judged.length, back.length], [1, 0], `${unsure}`)
  }
  const disturbed = summaryOf([withProtected({ unsure: DISTURBED, seconds })])
  assert.equal(disturbed.judged.length, 0)
  assert.match(recoveryPage({ one: withProtected({ seconds }) }, 1), /before the spike: .* shed, .* answered in time/)
})

test('the page names what was not measured, what was not judged, and each lowered capacity', () => {
  const app = { ...withProtected({ unsure: 'the generator itself was late' }), title: 'One' }
  const page = recoveryPage({ one: { ...app, searched: 110, capacity: 100, lowered: ['at 88/s it was late'] } }, 3)
  assert.match(page, /One was not judged; the table gives the reason/)
  assert.match(page, /2 of the 3 were not measured/)
  assert.match(page, /\| One \| 100\/s \|.*the generator itself was late/)
  assert.match(
    page,
    /\*\*One\*\*: 110\/s was found, and 100\/s kept\. At 0\.8x of what was tried: at 88\/s it was late\./,
  )
})
