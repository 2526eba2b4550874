/** `meltlab list` and `meltlab run` as a user sees them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isOlder, scriptDigest } from '../../src/experiment/script-digest.ts'
import { catalogue } from '../../src/scenarios/catalogue.ts'
import { madeResult } from '../report/made-result.ts'

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
const meltlab = (...args: string[]) => spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' })

test('meltlab list prints every scenario with its story, and its expectations with --json', () => {
  const { stdout, status } = meltlab('list')
  assert.equal(status, 0)
  const unwrapped = stdout.replace(/\s+/g, ' ')
  for (const { name, story } of catalogue) assert.ok(unwrapped.includes(`${name} ${story}`), name)
  const listed = JSON.parse(meltlab('list', '--json').stdout) as { name: string; expects: string[] }[]
  assert.deepEqual(
    listed.map(each => each.name),
    catalogue.map(each => each.name),
  )
  for (const each of listed) assert.ok(each.expects.length > 0, each.name)
})

test('every scenario has a unique name and a story of one line', () => {
  assert.equal(new Set(catalogue.map(each => each.name)).size, catalogue.length)
  for (const { name, story } of catalogue) {
    assert.match(name, /^[a-z][a-z-]*$/)
    assert.ok(story.length < 140 && !story.includes('\n'), story)
  }
})

for (const [what, args, words] of [
  ['a misspelled scenario', ['run', 'brst'], /^meltlab: there is no scenario 'brst'; did you mean burst\?\n$/],
  [
    'an unknown scenario',
    ['run', 'kubernetes'],
    /^meltlab: there is no scenario 'kubernetes'; the scenarios are burst/,
  ],
  ['a misspelled scenario among valid ones', ['run', 'burst', 'brust'], /^meltlab: there is no scenario 'brust'/],
  ['a missing scenario', ['run'], /^meltlab: missing required argument 'scenario'/],
  [
    'both --full and --brief',
    ['run', 'burst', '--full', '--brief'],
    /^meltlab: option '--full' cannot be used with option '--brief'/,
  ],
] as const) {
  test(`meltlab run refuses ${what} before anything starts`, () => {
    const { stdout, stderr, status } = meltlab(...args)
    assert.match(stderr, words)
    assert.equal(stdout, '')
    assert.equal(status, 2)
  })
}

test('meltlab report writes pages and Markdown from existing results, and run --keep does not repeat those', t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'meltlab-report-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['drip', 'burst']) {
    const { conditions } = madeResult()
    const today = { ...conditions, script: scriptDigest(name)! }
    writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(madeResult({ name, conditions: today })))
  }
  const page = meltlab('report', folder)
  assert.equal(page.status, 0, page.stderr)
  assert.ok(existsSync(path.join(folder, 'drip.html')))
  const images = path.join(folder, 'images')
  const markdown = meltlab('report', '--markdown', '--images', images, folder)
  assert.match(markdown.stdout, /## burst\n[\s\S]*## drip\n/)
  assert.ok(existsSync(path.join(images, 'experiment-burst.svg')))
  const pages = path.join(folder, 'found')
  const index = meltlab('report', '--markdown', '--images', images, '--pages', pages, folder)
  assert.match(index.stdout, /\(found\/burst\.md\)[\s\S]*\(found\/drip\.md\)/)
  assert.deepEqual(readdirSync(pages), ['burst.md', 'drip.md'])
  const kept = meltlab('run', 'burst', 'drip', '--keep', folder)
  assert.deepEqual([kept.status, kept.stdout], [0, ''])
  assert.equal(isOlder(madeResult({ name: 'burst' })), true, 'it would be measured again')
  assert.equal(isOlder(madeResult()), false, 'no script of ours')
})

test('meltlab report refuses a file that is not a valid result', t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'meltlab-report-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'x.json'), '{"kind":"other"}')
  writeFileSync(path.join(folder, 'v2.json'), JSON.stringify({ ...madeResult(), version: 2 }))
  writeFileSync(path.join(folder, 'half.json'), JSON.stringify({ ...madeResult(), plots: undefined }))
  for (const [place, words] of [
    [path.join(folder, 'x.json'), /x\.json is not a result of meltlab attack --json/],
    [path.join(folder, 'nothing'), /nothing does not exist/],
    [
      path.join(folder, 'v2.json'),
      /v2\.json is a result of another version \(2; this meltlab reads 1\); write its page with/,
    ],
    [path.join(folder, 'half.json'), /half\.json is a result without plots; repeat the run/],
  ] as const) {
    const { status, stderr } = meltlab('report', place)
    assert.equal(status, 2)
    assert.match(stderr, words)
  }
})
