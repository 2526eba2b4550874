/**
 * Writes dist/cjs, the files that a package's exports name for `require`. They load the ES modules, so that a process
 * has one copy of each module, whether the app uses import or require(). The .d.ts files are copied.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly require: string; readonly default: string }>>
}

for (const name of ['meltproof', 'lab']) {
  const folder = resolve(import.meta.dirname, '../packages', name)
  const dist = join(folder, 'dist')
  const cjs = join(dist, 'cjs')
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts') || file.startsWith('cjs')) continue
    write(join(cjs, file), readFileSync(join(dist, file), 'utf8'))
  }
  write(join(cjs, 'package.json'), '{ "type": "commonjs" }\n')
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  for (const entry of Object.values(exports)) {
    // scripts/bundle.ts makes register.js.
    if (typeof entry === 'string' || entry.require.endsWith('/register.js')) continue
    const from = join(folder, entry.require)
    write(from, loaderOf(relative(dirname(from), join(folder, entry.default))))
  }
}

/**
 * Bundlers follow the first require(). In Jest it is Jest's own, which loads ES modules only from Jest 30 on Node 24.9.
 * The second require() is Node's.
 */
function loaderOf(path: string): string {
  return `'use strict'
let loaded
try {
  loaded = require('${path}')
} catch {
  const { createRequire } = require('node:vm').runInThisContext("process.getBuiltinModule('node:module')")
  loaded = createRequire(__filename)('${path}')
}
module.exports = loaded
`
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
