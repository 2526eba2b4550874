/** Every app has a declaration that the runner accepts. Starts nothing. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { AppDefinition } from '../runner/definition.ts'
import { noNetwork, sourceFolder } from '../runner/install.ts'
import { dependencyVersion } from '../runner/manifest.ts'

const names = globSync('*/app.ts', { cwd: join(import.meta.dirname, '..') }).map(dirname)

test('there are nineteen apps', () => assert.equal(names.length, 19))

for (const name of [...names, 'companions']) {
  test(`${name} pins exact versions of its dependencies`, () => {
    const manifest = JSON.parse(readFileSync(join(sourceFolder(name), 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    for (const [main, version] of Object.entries(manifest.dependencies)) {
      assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${main} ${version}`)
      assert.equal(dependencyVersion(name, main), version)
    }
  })
}

for (const name of names) {
  test(`${name} declares what to run, what to request and which requests cost most`, async () => {
    const { app } = (await import(`../${name}/app.ts`)) as { app: AppDefinition }
    assert.match(dependencyVersion(name, app.main), /^\d/)
    assert.ok(app.run.length > 0)
    assert.ok(app.paths.length >= 5 || app.pathsProgram !== undefined)
    assert.ok(app.streams.length > 0)
    const streams = app.streams.map(stream => stream.name)
    assert.equal(new Set(streams).size, streams.length, 'two streams of one name')
  })
}

test('noNetwork() distinguishes an unreachable registry from an invalid package', () => {
  assert.ok(noNetwork('npm error code EAI_AGAIN\nnpm error request to https://registry failed'))
  assert.ok(!noNetwork('npm error code ETARGET\nnpm error notarget No matching version found'))
})
