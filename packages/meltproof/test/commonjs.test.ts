/** require() of the built package loads one copy of it per process, with any require(). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { test } from 'node:test'
import vm from 'node:vm'

const require = createRequire(import.meta.url)
const { exports } = require('meltproof/package.json') as { exports: object }
const entries = Object.keys(exports).filter(entry => !entry.endsWith('.json'))

for (const entry of entries) {
  const specifier = `meltproof${entry.slice(1)}`
  if (specifier === 'meltproof/register') continue // it would protect the servers of this process

  test(`${specifier}: require() and import return the same module`, async () => {
    const required: unknown = require(specifier)
    assert.equal(required, await import(specifier))
  })

  test(`${specifier}: a test runner with its own require() and process gets the same module`, async () => {
    const filename = require.resolve(specifier)
    const module = { exports: {} }
    const run = vm.runInNewContext(`(function (module, require, __filename) {${readFileSync(filename, 'utf8')}\n})`)
    run(module, requireOfRunner, filename)
    assert.equal(module.exports, await import(specifier))
  })
}

/** A require() without ES modules, like its node:module. */
function requireOfRunner(id: string): unknown {
  if (!isBuiltin(id)) throw new SyntaxError("Unexpected token 'export'")
  return id.endsWith('module') ? { createRequire: () => requireOfRunner } : require(id)
}
