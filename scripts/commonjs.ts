/**
 * Makes the files for CommonJS: dist/cjs, which `require` in the exports of a package names. They load the ES modules,
 * so that a process has one copy of them however they are loaded. Their types are those of the ES modules.
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
 * Bundlers follow the first require(). The one of Jest before 30 (Node 24.9) loads no ES modules, that of Node does.
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
